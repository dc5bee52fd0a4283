import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { replaceEnvironment } from "../../src/environment.js";
import { events } from "../../src/events.js";
import { delays } from "../../src/locks/backoff.js";
import { newIds } from "../../src/synchronizers/permit-ids.js";
import { whenListened } from "../../src/threads/loss-listeners.js";
import { OwnEnvironment } from "../simulation/world/own-environment.js";
import { watchLeaks } from "../support/run/leaks.js";
import { endRecordings, recorded } from "../support/run/recorded-events.js";
import { fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
endRecordings();
const open = fakeTime();
let own: OwnEnvironment;
let putBack: () => void;

beforeEach(() => {
  own = new OwnEnvironment(() => 0);
  putBack = replaceEnvironment(own);
});
afterEach(() => {
  own.forgetAll();
  putBack();
});

describe("in an environment of its own", () => {
  test("ids are the same in each run, and the chance of the process comes back afterwards", () => {
    const { holdfast } = open();
    expect(holdfast.clientId).toBe("00000000-0000-8001-8000-000000000001");
    expect(newIds(2)).toEqual(["30".repeat(15).concat("31"), "30".repeat(15).concat("32")]);
    putBack();
    expect(newIds(1)[0]).not.toMatch(/^(?:30){10}/);
  });

  test("pauses are drawn from its chance", () => {
    const next = delays({ type: "exponential", initialDelayMs: 1, maxDelayMs: 100, multiplier: 2 });
    expect([next(), next(), next(), next(), next()]).toEqual([1, 2, 4, 10, 21]);
  });

  test("a young lease that is forgotten is told of at once, and its lock falls by its TTL", async () => {
    const { holdfast, clock, fields } = open();
    const abandoned = recorded(events.leaseAbandoned);
    const lease = await holdfast.getLock("a").lock();
    const kept = await holdfast.getLock("b").lock();
    own.forget(lease);
    expect(abandoned).toMatchObject([{ name: "a", kind: "lock", holder: lease.holder, heldMs: 0 }]);
    await clock.advance(60_000);
    expect(fields("a")).toEqual({});
    expect(kept.state).toBe("held");
    await kept.unlock();
    own.forget(kept);
    expect(abandoned).toHaveLength(1);
  });

  test("permits that are forgotten are told of, too", async () => {
    const { holdfast, clock } = open();
    const semaphore = holdfast.getPermitExpirableSemaphore("s");
    await semaphore.trySetPermits(1);
    const abandoned = recorded(events.leaseAbandoned);
    own.forget(await semaphore.acquire({ watchdog: true }));
    expect(abandoned).toHaveLength(1);
    await clock.advance(60_000);
    expect(await semaphore.availablePermits()).toBe(1);
    const fixed = await semaphore.acquire({ leaseMs: 5_000 });
    own.forget(fixed);
    expect(fixed.state).toBe("released");
    await semaphore.delete();
  });

  test("a red lease that is forgotten is not taken again where it is missing", async () => {
    const clients = [open(), open(), open()];
    const [one, two, three] = clients.map(({ holdfast }) => holdfast.getLock("a"));
    if (one === undefined || two === undefined || three === undefined) throw new Error("three are open");
    const stranger = await three.lock({ leaseMs: 1_000 });
    const red = clients[0]?.holdfast.getRedLock(one, two, three);
    const lease = await red?.lock();
    if (lease === undefined) throw new Error("a majority is free");
    await stranger.unlock();
    own.forget(lease);
    for (const { clock } of clients) await clock.advance(5_000);
    expect(clients[2]?.fields("a")).toEqual({});
  });

  test("who listens hears of the clients of this environment alone", () => {
    const told: string[] = [];
    const end = whenListened({ tellEnds: () => told.push("this") });
    putBack();
    const endOther = whenListened({ tellEnds: () => told.push("other") });
    replaceEnvironment(own);
    const listener = () => {};
    events.leaseLost.subscribe(listener);
    events.leaseLost.unsubscribe(listener);
    putBack();
    endOther();
    replaceEnvironment(own);
    end();
    expect(new Set(told)).toEqual(new Set(["this"]));
  });

  test("what is warned of once is warned of once in each", async () => {
    for (const environment of [own, new OwnEnvironment(() => 0)]) {
      const restore = replaceEnvironment(environment);
      const { holdfast, clock } = open();
      const lock = holdfast.getLock("a");
      const lease = await lock.lock();
      const call = lock.lock();
      const again = lock.lock();
      await clock.advance(40_000);
      expect(environment.warnings.map(({ code }) => code)).toEqual(["HOLDFAST_WAITS_FOR_ITSELF"]);
      await lease.unlock();
      await (await call).unlock();
      await (await again).unlock();
      restore();
    }
  });
});
