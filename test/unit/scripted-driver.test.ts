import { beforeEach, describe, expect, it } from "vitest";
import { evaluate, Recorder, script } from "../../src/driver/conformance/conformance-case.js";
import { MemoryServer, memoryDriver } from "../../src/memory/index.js";
import { ScriptedDriver } from "../support/drivers/scripted-driver.js";
import {
  answerLate,
  answerWith,
  deliverLate,
  deliverTwice,
  loseReply,
  neverDeliver,
  rejectAtOnce,
  swallowReply,
} from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";

const increment = script("increment", 'return redis.call("INCR", KEYS[1])');
const read = script("read", 'return redis.call("GET", KEYS[1])');
const publish = script("publish", 'return redis.call("PUBLISH", KEYS[1], ARGV[1])');

watchLeaks();

let driver: ScriptedDriver;
beforeEach(() => {
  driver = new ScriptedDriver(memoryDriver(new MemoryServer()));
});

const count = () => evaluate(driver, increment, ["counter"]);
const counter = () => evaluate(driver, read, ["counter"]);

async function isPending(promise: Promise<unknown>): Promise<boolean> {
  // The memory driver answers in the next turn, so whatever comes back at all is back after this.
  return (await Promise.race([promise, counter().then(() => "pending")])) === "pending";
}

describe("a scripted driver", () => {
  it("passes on what nothing is planned for, and writes it down", async () => {
    expect([await count(), await count(), await counter()]).toEqual([1, 2, "2"]);
    expect(driver.names).toEqual(["conformance-increment", "conformance-increment", "conformance-read"]);
    expect(driver.calls[0]).toMatchObject({ call: { keys: ["counter"] }, fault: undefined, deliveries: 1 });
    expect(driver.resets).toBe(0);
  });

  it("applies each plan once, to the calls that it is for", async () => {
    const met = driver.next(rejectAtOnce, "conformance-increment");
    void driver.next(rejectAtOnce, ({ keys }) => keys.includes("other"));
    expect(await counter()).toBeNull();
    await expect(count()).rejects.toThrow("there is no connection");
    expect(await met).toMatchObject({ fault: "rejected at once", deliveries: 0 });
    expect(await count()).toBe(1);
    await expect(evaluate(driver, read, ["other"])).rejects.toThrow();
  });

  it("loses a reply after the server has run the call", async () => {
    void driver.next(loseReply);
    await expect(count()).rejects.toThrow("the reply was lost");
    expect([await counter(), driver.resets]).toEqual(["1", 1]);
  });

  it("swallows a reply, or the whole call", async () => {
    void driver.next(swallowReply);
    expect(await isPending(count())).toBe(true);
    expect(await counter()).toBe("1");
    void driver.next(neverDeliver);
    expect(await isPending(count())).toBe(true);
    expect(await counter()).toBe("1");
  });

  it("answers with an error", async () => {
    void driver.next(answerWith(new RangeError("no")));
    await expect(count()).rejects.toThrow(RangeError);
    expect(await counter()).toBeNull();
  });

  it("delivers twice and answers the second time", async () => {
    void driver.next(deliverTwice);
    expect([await count(), driver.resets, driver.calls[0]?.deliveries]).toEqual([2, 1, 2]);
  });

  it("delivers late, after others, whether the caller was told or not", async () => {
    const quiet = deliverLate();
    void driver.next(quiet);
    const answer = count();
    expect(await isPending(answer)).toBe(true);
    expect(await count()).toBe(1);
    expect(await quiet.arrive()).toBe(2);
    expect(await answer).toBe(2);
    expect(driver.resets).toBe(0);

    const told = deliverLate({ told: true });
    void driver.next(told);
    await expect(count()).rejects.toThrow("the connection broke");
    expect(await count()).toBe(3);
    expect(await told.arrive()).toBe(4);
    expect(driver.resets).toBe(1);
    expect(() => deliverLate().arrive()).toThrow("no call was held up");
  });

  it("answers late although the call has run", async () => {
    const late = answerLate();
    void driver.next(late);
    const answer = count();
    expect(await isPending(answer)).toBe(true);
    expect(await counter()).toBe("1");
    late.arrive();
    expect(await answer).toBe(1);
  });

  it("fails, holds and mutes subscriptions", async () => {
    const listener = new Recorder();
    driver.channels.failNext(new Error("not now"));
    await expect(driver.subscribe("news", listener)).rejects.toThrow("not now");

    const release = driver.channels.hold();
    const subscribed = driver.subscribe("news", listener);
    expect(await isPending(subscribed)).toBe(true);
    expect(await evaluate(driver, publish, ["news"], ["unheard"])).toBe(0);
    release();
    const unsubscribe = await subscribed;

    driver.channels.mute(true);
    expect(await evaluate(driver, publish, ["news"], ["lost"])).toBe(1);
    await counter();
    driver.channels.mute(false);
    await evaluate(driver, publish, ["news"], ["heard"]);
    await listener.until(2);
    driver.channels.reconnect();
    expect(listener.heard).toEqual(["ready", ">heard", "ready"]);
    await unsubscribe();
    driver.channels.reconnect();
    expect(listener.heard).toHaveLength(3);
    expect(driver.channels.asked).toEqual(["news", "news"]);
  });
});
