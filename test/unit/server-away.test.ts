import { createHash } from "node:crypto";
import { Holdfast } from "holdfast";
import { FakeClock, MemoryServer, memoryDriver } from "holdfast/memory";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Driver } from "../../src/driver/driver.js";
import { watched } from "../support/run/watched.js";

const COMMAND_TIMEOUT_MS = 3_000;

let clock: FakeClock;
let server: MemoryServer;
const opened: Holdfast[] = [];

beforeEach(() => {
  clock = new FakeClock();
  server = new MemoryServer({ clock });
});
afterEach(async () => {
  server.comeBack();
  server.answerAfter(0);
  // What has an unknown outcome is cleaned up first, with pauses between the tries.
  const closing = Promise.all(opened.splice(0).map((client) => client.close({ releaseHeld: true })));
  await clock.advance(60_000);
  await closing;
});

function open(driver: Driver = memoryDriver(server)): Holdfast {
  const client = new Holdfast(driver, { clock });
  opened.push(client);
  return client;
}

/** What became of a call once so much time has passed. */
async function after<T>(ms: number, call: Promise<T>): Promise<unknown> {
  const seen = watched(call);
  await clock.advance(ms);
  return seen.outcome;
}

const unavailable = (fields: object = {}) => ({
  error: expect.objectContaining({ code: "ERR_HOLDFAST_UNAVAILABLE", ...fields }),
});

describe("an embedded server that is away", () => {
  test("is told by UnavailableError after one command timeout, with the reason [own-92]", async () => {
    const lock = open().getLock("job");
    await (await lock.lock()).unlock();
    server.goAway();
    expect(server.isAway).toBe(true);
    const outcome = await after(COMMAND_TIMEOUT_MS + 100, lock.lock());
    expect(outcome).toMatchObject(
      unavailable({ cause: expect.objectContaining({ message: expect.stringContaining("ECONNREFUSED") }) }),
    );
  });

  test("comes back within a call's time: the call succeeds", async () => {
    const lock = open().getLock("job");
    server.goAway();
    const call = watched(lock.lock());
    await clock.advance(COMMAND_TIMEOUT_MS / 2);
    expect(call.outcome).toBeUndefined();
    server.comeBack();
    await clock.advance(COMMAND_TIMEOUT_MS / 2);
    expect(call.outcome).toHaveProperty("value.state", "held");
  });

  test("loses a lease that can not be renewed, and its key expires", async () => {
    const lease = await open().getLock("job").lock();
    server.goAway();
    await clock.advance(30_001);
    expect(lease.state).toBe("lost");
    expect(lease.signal.aborted).toBe(true);
    expect(server.dump()).toEqual({});
  });

  test("keeps a lease whose renewal it is back for", async () => {
    const lease = await open().getLock("job").lock();
    server.goAway();
    await clock.advance(15_000);
    server.comeBack();
    await clock.advance(60_000);
    expect(lease.state).toBe("held");
  });

  test("breaks the connections of those that wait, which ask again when it is back", async () => {
    const lease = await open().getLock("job").lock({ leaseMs: 600_000 });
    const waiting = watched(open().getLock("job").lock());
    await clock.advance(0);
    server.goAway();
    // The release is not heard of: nothing listens.
    server.command("DEL", "job");
    await clock.advance(100);
    expect(waiting.outcome).toBeUndefined();
    server.comeBack();
    await clock.advance(100);
    expect(waiting.outcome).toHaveProperty("value.state", "held");
    await lease.unlock().catch(() => undefined);
  });

  test("lets a waiter listen that came while it was away", async () => {
    const driver = memoryDriver(server);
    server.goAway();
    const heard: string[] = [];
    const subscribing = driver.subscribe("news", {
      onMessage: (text) => void heard.push(text),
      onReady: () => void heard.push("ready"),
    });
    await clock.advance(1_000);
    expect(heard).toEqual([]);
    server.comeBack();
    await (await subscribing)();
    expect([heard, driver.resets, driver.outage]).toEqual([["ready"], 1, undefined]);
    await driver.close();
  });

  test("comes back empty when it was flushed: a lease is lost with its next renewal", async () => {
    const lease = await open().getLock("job").lock();
    server.goAway();
    server.flush();
    server.comeBack();
    await clock.advance(11_000);
    expect(lease.state).toBe("lost");
  });

  test("ends a driver that closes meanwhile", async () => {
    const driver = memoryDriver(server);
    server.goAway();
    const subscribing = watched(
      driver.subscribe("news", { onMessage: () => undefined, onReady: () => undefined }),
    );
    await driver.close();
    await clock.advance(0);
    expect(subscribing.outcome).toHaveProperty("error.name", "DriverClosedError");
    server.comeBack();
    await clock.advance(0);
  });
});

describe("an embedded server that is slow", () => {
  test("answers after so many milliseconds", async () => {
    const lock = open().getLock("job");
    server.answerAfter(200);
    const call = watched(lock.lock());
    await clock.advance(199);
    expect(call.outcome).toBeUndefined();
    await clock.advance(400);
    expect(call.outcome).toHaveProperty("value.state", "held");
  });

  test("has carried out a call whose answer is lost: the outcome is unknown, and a later call finds the hold", async () => {
    const lock = open().getLock("job");
    await (await lock.lock()).unlock();
    server.answerAfter(1_000);
    const call = watched(lock.tryLock());
    await clock.advance(500);
    expect(server.command("EXISTS", "job")).toBe(1);
    server.goAway();
    await clock.advance(COMMAND_TIMEOUT_MS);
    expect(call.outcome).toMatchObject(unavailable({ outcomeUnknown: true }));
  });

  test.each([
    [-1, RangeError],
    [Number.NaN, RangeError],
    [Number.POSITIVE_INFINITY, RangeError],
    ["5", TypeError],
  ])("refuses a delay of %s", (delayMs, kind) => {
    expect(() => server.answerAfter(delayMs as number)).toThrow(kind);
  });
});

describe("an embedded server that refuses", () => {
  test("scripts: the call rejects with the server's words, and nothing is done", async () => {
    const lock = open().getLock("job");
    await (await lock.lock()).unlock();
    const end = server.refuse({ error: "NOPERM this user has no permissions" });
    const error: unknown = await lock.lock().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "ERR_HOLDFAST_UNAVAILABLE", outcomeUnknown: false });
    expect(String((error as Error).message)).toContain("NOPERM this user has no permissions");
    expect(server.dump()).toEqual({});
    end();
    end();
    await (await lock.lock()).unlock();
  });

  test("one script: a lock is had and can not be renewed", async () => {
    const lease = await open().getLock("job").lock();
    server.refuse({ error: "READONLY You can't write against a read only replica.", script: "lock-renew" });
    await clock.advance(30_001);
    expect(lease.state).toBe("lost");
  });

  test("one command wherever a script calls it, and none of the test's own", async () => {
    server.refuse({ error: "NOPERM no permission", command: "hset" });
    const lua = 'return redis.pcall("HSET", KEYS[1], "a", "b").err';
    const sha1 = createHash("sha1").update(lua).digest("hex");
    expect(server.evaluate({ name: "example", lua, sha1 }, ["hash"], [])).toBe("NOPERM no permission");
    expect(server.command("HSET", "hash", "a", "b")).toBe(1);
  });

  test.each(["", "oops", "no code here"])("with an error that has a code, unlike %j", (error) => {
    expect(() => server.refuse({ error })).toThrow(/^error must begin with a code of Redis/);
  });
});

describe("a driver", () => {
  const wrappers: readonly (readonly [string, (driver: Driver) => Driver])[] = [
    ["a Proxy", (driver) => new Proxy(driver, {})],
    ["an object that has it for a prototype", (driver) => Object.create(driver) as Driver],
    ["a copy with a method of its own", (driver) => ({ ...driver, close: () => driver.close() })],
  ];

  test.each(wrappers)("may be wrapped by %s [own-92]", async (_, wrap) => {
    const driver = wrap(memoryDriver(server));
    const holdfast = open(driver);
    const [first, second] = [holdfast.getLock("job"), open().getLock("job")];
    const lease = await first.lock();
    const waiting = watched(second.lock());
    await clock.advance(0);
    await lease.unlock();
    await clock.advance(0);
    expect(waiting.outcome).toHaveProperty("value.state", "held");
    expect([driver.resets, driver.outage, driver.traits.topology]).toEqual([0, undefined, "memory"]);
  });
});
