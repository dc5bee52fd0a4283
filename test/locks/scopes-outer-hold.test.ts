import { describe, expect, test } from "vitest";
import { LeaseLostError, ReentryError } from "../../src/errors.js";
import type { Holdfast } from "../../src/holdfast.js";
import { gate } from "../support/run/gate.js";
import { watchLeaks } from "../support/run/leaks.js";
import { fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();

async function reasonOf(refused: Promise<unknown>): Promise<unknown> {
  return refused.then(
    () => "it was let in",
    (error: unknown) => error,
  );
}

describe("the hold around siblings", () => {
  test("that is lost while one of them waits rejects the wait with its loss [R17]", async () => {
    const { holdfast, clock } = open();
    const lock = holdfast.getLock("a");
    const waited: unknown[] = [];
    const outer = lock.using({ leaseMs: 1_000 }, (lease) =>
      Promise.all([
        lock.using({ leaseMs: 60_000 }, () => clock.advance(5_000)),
        reasonOf(lock.using(() => undefined)).then((error) => waited.push(error, lease.signal.reason)),
      ]),
    );
    await expect(outer).rejects.toBeInstanceOf(LeaseLostError);
    expect(waited[0]).toMatchObject({ code: "ERR_HOLDFAST_LEASE_LOST", reason: "expired" });
    expect(waited[0]).toBe(waited[1]);
  });

  test("that is lost ends the wait at that moment, although nobody looks at its lease [R17]", async () => {
    const { holdfast, clock } = open();
    const lock = holdfast.getLock("a");
    let waitedMs = -1;
    const outer = lock.using({ leaseMs: 1_000 }, async () => {
      const startMs = clock.monotonicMs();
      const sibling = lock.using({ leaseMs: 60_000 }, () => clock.advance(5_000));
      await reasonOf(lock.using(() => undefined));
      waitedMs = clock.monotonicMs() - startMs;
      await sibling;
    });
    await expect(outer).rejects.toBeInstanceOf(LeaseLostError);
    expect(waitedMs).toBe(988);
  });

  test("that is given back while one of them waits rejects the wait: there is nothing to re-enter [R17]", async () => {
    const { holdfast, clock, fields } = open();
    const lock = holdfast.getLock("a");
    const [entered, leave] = [gate(), gate()];
    const lease = await lock.lock();
    let sibling: Promise<unknown> = Promise.resolve();
    let waiting: Promise<unknown> = Promise.resolve();
    void lease.run(async () => {
      sibling = lock.using(() => {
        entered.open();
        return leave.opened;
      });
      await entered.opened;
      waiting = reasonOf(lock.using(() => undefined));
      await waiting;
    });
    await clock.advance(100);
    await lease.unlock();
    expect(await waiting).toMatchObject({ code: "ERR_HOLDFAST_LEASE_LOST", reason: "released" });
    expect(fields("a")).toEqual({ [lease.holder]: "1" });
    leave.open();
    await sibling;
    expect(fields("a")).toEqual({});
  });

  test("whose body ends without waiting for its branches rejects the one that still waits [R17]", async () => {
    const { holdfast, clock } = open();
    const lock = holdfast.getLock("a");
    const leave = gate();
    const left: Promise<unknown>[] = [];
    await lock.using(async () => {
      left.push(lock.using(() => leave.opened));
      await clock.advance(100);
      left.push(reasonOf(lock.using(() => undefined)));
    });
    expect(await left[1]).toMatchObject({ code: "ERR_HOLDFAST_LEASE_LOST", reason: "released" });
    leave.open();
    await left[0];
  });
});

describe("a bare hold in between", () => {
  const helper = (holdfast: Holdfast) => holdfast.getLock("a").using(() => "helped");

  test("is a ReentryError at once, which says what to pass [R18]", async () => {
    const { holdfast, driver } = open();
    const lock = holdfast.getLock("a");
    await lock.using(async () => {
      const bare = await lock.lock();
      const sent = driver.calls.length;
      const error = await reasonOf(helper(holdfast));
      expect(error).toBeInstanceOf(ReentryError);
      expect(error).toMatchObject({ code: "ERR_HOLDFAST_REENTRY", lockName: "a" });
      expect((error as Error).message).toContain("threadId");
      expect(await reasonOf(lock.tryLock())).toBeInstanceOf(ReentryError);
      expect(driver.calls).toHaveLength(sent);
      await bare.unlock();
      expect(await helper(holdfast)).toBe("helped");
    });
  });

  test("can be entered by its run and by its threadId [R18]", async () => {
    const { holdfast } = open();
    const lock = holdfast.getLock("a");
    await lock.using(async () => {
      const bare = await lock.lock();
      expect(await bare.run(() => helper(holdfast))).toBe("helped");
      const again = await lock.lock({ threadId: bare.threadId });
      expect(again.holdCount).toBe(3);
      await again.unlock();
      await bare.unlock();
    });
  });

  test("ends the wait of a sibling that stood in line when it was taken [R18]", async () => {
    const { holdfast } = open();
    const lock = holdfast.getLock("a");
    const leave = gate();
    await lock.using(async () => {
      const sibling = lock.using(() => leave.opened);
      const bare = lock.lock();
      const third = reasonOf(lock.using(() => undefined));
      leave.open();
      await sibling;
      expect((await bare).holdCount).toBe(2);
      expect(await third).toBeInstanceOf(ReentryError);
      await (await bare).unlock();
    });
  });

  test("of somebody's own using body does not fail the siblings that wait for that body", async () => {
    const { holdfast } = open();
    const lock = holdfast.getLock("a");
    const log: string[] = [];
    await lock.using(() =>
      Promise.all([
        lock.using(async () => {
          const bare = await lock.lock();
          log.push("1 has one more");
          await bare.unlock();
        }),
        lock.using(() => log.push("2 in")),
      ]),
    );
    expect(log).toEqual(["1 has one more", "2 in"]);
  });
});
