import { channel } from "node:diagnostics_channel";
import { afterEach, describe, expect, test, vi } from "vitest";
import { ServerReplyError } from "../../src/driver/driver.js";
import { events } from "../../src/events.js";
import { answerWith, rejectAtOnce } from "../support/faults/call-faults.js";
import { watched } from "../support/run/watched.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";

const open = fakeTime();
const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
  vi.restoreAllMocks();
});

const parts = ["start", "end", "asyncStart", "asyncEnd", "error"] as const;
type Part = (typeof parts)[number];

/** All channels by their names, each part of a tracing channel by itself. */
function names(): readonly string[] {
  return Object.values(events).flatMap((each) =>
    "name" in each ? [String(each.name)] : parts.map((part: Part) => String(each[part].name)),
  );
}

/** Does what each of the channels tells of. */
async function live(time: FakeTime): Promise<void> {
  const { holdfast: client, driver } = time.connect({ commandTimeoutMs: 100 });
  const lock = client.getLock("a");
  const lease = await lock.lock();
  driver.channels.failNext(new Error("no more channels"));
  const waiting = [watched(lock.tryLock({ waitMs: 10 })), watched(lock.tryLock({ waitMs: 10 }))];
  await time.clock.advance(10);
  expect(waiting.map(({ outcome }) => outcome)).toEqual([{ value: null }, { value: null }]);
  await time.clock.advance(11_000);
  for (let i = 0; i < 20; i += 1) void driver.next(rejectAtOnce, "lock-renew");
  await time.clock.advance(11_000);
  await lock.forceUnlock();
  expect(lease.state).toBe("lost");
  void driver.next(answerWith(new ServerReplyError("NOPERM")), "lock-release");
  await lock.using(() => undefined);
  await lock.forceUnlock();
  await (await lock.lock()).unlock();
  const latch = client.getCountDownLatch("l");
  expect(await latch.await()).toBe(true);
  const refusal = answerWith(new ServerReplyError("NOAUTH"));
  for (const script of ["lock-acquire", "count-look"]) void driver.next(refusal, script);
  for (const call of [() => lock.lock(), () => latch.await()]) {
    await expect(call()).rejects.toHaveProperty("code", "ERR_HOLDFAST_UNAVAILABLE");
  }
  const permits = client.getPermitExpirableSemaphore("s");
  expect(await permits.tryAcquire()).toBeNull();
  const closed = client.close();
  await time.clock.advance(1_000);
  await closed;
}

describe("events", () => {
  test("cost no payload where nobody listens", async () => {
    const time = open();
    const channels = names().map((name) => channel(name));
    const spies = channels.flatMap((each) => [vi.spyOn(each, "publish"), vi.spyOn(each, "runStores")]);
    const snapshots = vi.spyOn((await import("node:async_hooks")).AsyncLocalStorage, "snapshot");
    await live(time);
    expect(channels.length).toBe(3 * 5 + 14);
    expect([...spies, snapshots].filter(({ mock }) => mock.calls.length > 0)).toEqual([]);
  });

  test("do no harm by listeners that throw: each error is one of the process, and told of by itself", async () => {
    const time = open();
    const thrown = new Error("a listener failed");
    const caught: unknown[] = [];
    const uncaught = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException");
    const onUncaught = (error: unknown) => void caught.push(error);
    process.on("uncaughtException", onUncaught);
    ends.push(() => {
      process.off("uncaughtException", onUncaught);
      for (const listener of uncaught) process.on("uncaughtException", listener);
    });
    const heard = new Set<string>();
    for (const name of names()) {
      const listener = () => {
        heard.add(name);
        throw thrown;
      };
      channel(name).subscribe(listener);
      ends.push(() => channel(name).unsubscribe(listener));
    }
    await live(time);
    await new Promise(setImmediate);
    const silent = names().filter((name) => !heard.has(name));
    // Without replicas there can be no fewer; a lease is forgotten only by a collection of garbage; the client has no presence, and its server suits.
    expect(silent.sort()).toEqual([
      "holdfast:lease:abandoned",
      "holdfast:presence:failed",
      "holdfast:replicas:short",
      "holdfast:server:unsuited",
    ]);
    expect(new Set(caught)).toEqual(new Set([thrown]));
  });
});
