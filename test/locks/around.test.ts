import { AsyncLocalStorage } from "node:async_hooks";
import { describe, expect, test } from "vitest";
import type { Around, AroundHold } from "../../src/client-options.js";
import { gate } from "../support/run/gate.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();

/** Says what it was called with, and passes the body on. */
function noting() {
  const holds: AroundHold[] = [];
  const around: Around = (hold, body) => {
    holds.push(hold);
    return body();
  };
  return { holds, around };
}

/** As JavaScript would pass it. */
function unchecked(around: (hold: AroundHold, body: () => unknown) => unknown): Around {
  return around as Around;
}

const broken = new Error("of around");

describe("around", () => {
  test("runs each body of using, tryUsing and run, once", async () => {
    const { holds, around } = noting();
    const { holdfast } = open({ around });
    const lock = holdfast.getLock("a");
    const holders: string[] = [];
    const body = ({ holder }: { readonly holder: string }) => holders.push(holder);
    expect(await lock.using({ note: "first" }, body)).toBe(1);
    expect(await lock.tryUsing(async (lease) => body(lease))).toEqual({ ran: true, value: 2 });
    const lease = await lock.lock();
    expect(await lease.run(() => body(lease))).toBe(3);
    expect(await lease.run(() => lock.using(body))).toBe(4);
    await lease.unlock();
    expect(holds).toEqual([
      { name: "a", kind: "lock", holder: holders[0], note: "first" },
      { name: "a", kind: "lock", holder: holders[1] },
      { name: "a", kind: "lock", holder: lease.holder },
      { name: "a", kind: "lock", holder: lease.holder },
      { name: "a", kind: "lock", holder: holders[3] },
    ]);
    await holdfast.asThread(() => undefined);
    expect(await lock.tryUsing({ leaseMs: 1_000 }, () => lock.tryUsing(() => 1))).toMatchObject({
      ran: true,
    });
    expect(holds).toHaveLength(7);
  });

  test("runs the body of a joint lock once, and is told the tokens and notes that there are", async () => {
    const { holds, around } = noting();
    const { holdfast, server } = open({ around });
    const locks = ["a", "b", "c"].map((name) => holdfast.getLock(name));
    let joint = "";
    await holdfast.getMultiLock(...locks).using({ note: "all" }, ({ holder }) => {
      joint = holder;
    });
    await holdfast.getRedLock(...locks).using(() => undefined);
    const token = await holdfast.getFencedLock("f").using((lease) => lease.token);
    expect(holds).toMatchObject([
      { name: "a+b+c", kind: "multi-lock", holder: joint, note: "all" },
      { name: "a+b+c", kind: "red-lock" },
      { name: "f", kind: "fenced-lock", token },
    ]);
    server.command("DEL", "redisson_lock_token:{f}");
  });

  test("runs the bodies of permits", async () => {
    const { holds, around } = noting();
    const { holdfast } = open({ around });
    const [plain, leased] = [holdfast.getSemaphore("p"), holdfast.getPermitExpirableSemaphore("l")];
    await plain.trySetPermits(2);
    await leased.trySetPermits(2);
    expect(await plain.using(() => 1)).toBe(1);
    expect(await plain.tryUsing(2, () => 2)).toEqual({ ran: true, value: 2 });
    let ids: readonly string[] = [];
    const options = { leaseMs: 1_000, note: "upload" };
    await leased.using(options, (permits) => {
      ids = permits.ids;
    });
    expect(await plain.availablePermits()).toBe(2);
    expect(await leased.availablePermits()).toBe(2);
    expect(holds).toEqual([
      { name: "p", kind: "semaphore", holder: "" },
      { name: "p", kind: "semaphore", holder: "" },
      { name: "l", kind: "permit-expirable-semaphore", holder: ids.join(","), note: "upload" },
    ]);
    await plain.delete();
    await leased.delete();
  });

  test("is called in the scope of the hold, and its own context reaches the body and nothing else", async () => {
    const context = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const { holdfast } = open({
      around: (hold, body) => {
        seen.push([hold.name, holdfast.leaseHere(hold.name)?.holder === hold.holder]);
        return context.run(`in ${hold.name}`, body);
      },
    });
    await holdfast.getLock("a").using(async () => {
      await undefined;
      seen.push(context.getStore());
      await holdfast.getLock("b").using(() => seen.push(context.getStore()));
      seen.push(context.getStore());
    });
    seen.push(context.getStore());
    expect(seen).toEqual([["a", true], "in a", ["b", true], "in b", "in a", undefined]);
  });

  test.each([
    ["at once", unchecked(() => Promise.reject(broken))],
    [
      "later",
      unchecked(async () => {
        await undefined;
        throw broken;
      }),
    ],
    [
      "as it is called",
      unchecked(() => {
        throw broken;
      }),
    ],
  ])("that fails %s fails the call before the body, and the lock is freed", async (_, around) => {
    const { holdfast, server } = open({ around });
    let ran = false;
    const body = () => {
      ran = true;
    };
    const locks = ["a", "b"].map((name) => holdfast.getLock(name));
    for (const lock of [holdfast.getLock("a"), holdfast.getMultiLock(...locks)]) {
      await expect(lock.using(body)).rejects.toBe(broken);
    }
    const semaphore = holdfast.getSemaphore("p");
    await semaphore.trySetPermits(1);
    await expect(semaphore.using(body)).rejects.toBe(broken);
    expect([ran, await semaphore.availablePermits()]).toEqual([false, 1]);
    await semaphore.delete();
    expect(Object.keys(server.dump()).filter((key) => !key.startsWith("holdfast_req:"))).toEqual([]);
  });

  test("may wait before the body and after it, and change what the call answers with", async () => {
    const log: string[] = [];
    const around = unchecked(async (_hold, body) => {
      log.push("before");
      await undefined;
      const result = await body();
      log.push("after");
      return [result];
    });
    const { holdfast, driver } = open({ around });
    expect(await holdfast.getLock("a").using(() => log.push("body"))).toEqual([2]);
    expect(log).toEqual(["before", "body", "after"]);
    expect(driver.timesOf("lock-acquire")).toHaveLength(1);
    expect(driver.timesOf("lock-release")).toHaveLength(1);
  });

  test.each([
    [
      "fails while the body runs",
      unchecked((_hold, body) => {
        void body();
        throw broken;
      }),
      { error: broken },
    ],
    ["does not wait for the body", unchecked((_hold, body) => void body()), { value: undefined }],
    [
      "fails later, while the body runs",
      unchecked(async (_hold, body) => {
        void body();
        await undefined;
        throw broken;
      }),
      { error: broken },
    ],
  ])("that %s keeps the lock until the body has ended [R38]", async (_, around, outcome) => {
    const { holdfast, fields, clock } = open({ around });
    const end = gate();
    const call = watched(holdfast.getLock("a").using(() => end.opened));
    await clock.advance(1_000);
    expect([call.outcome, Object.values(fields("a"))]).toEqual([undefined, ["1"]]);
    end.open();
    await clock.advance(1_000);
    expect([call.outcome, fields("a")]).toEqual([outcome, {}]);
  });

  test("that does not call the body, or calls it twice, fails the call", async () => {
    const { holdfast, connect } = open({ around: unchecked(() => undefined) });
    const never = holdfast.getLock("a").using(() => 1);
    await expect(never).rejects.toThrow('around did not call the body of "a"');
    const twice = unchecked((_hold, body) => [body(), body()]);
    const again = connect({ around: twice })
      .holdfast.getLock("a")
      .using(() => 1);
    await expect(again).rejects.toThrow('around called the body of "a" again, or too late');
    let keep = () => {};
    const late = unchecked((_hold, body) => {
      keep = body as () => void;
      return Promise.reject(broken);
    });
    await expect(
      connect({ around: late })
        .holdfast.getLock("a")
        .using(() => 1),
    ).rejects.toBe(broken);
    expect(keep).toThrow("too late");
  });

  test("passes the error of the body on as it is", async () => {
    const { holdfast } = open({ around: noting().around });
    const throws = () => {
      throw broken;
    };
    await expect(holdfast.getLock("a").using(throws)).rejects.toBe(broken);
    await expect(holdfast.getLock("a").using(() => Promise.reject(broken))).rejects.toBe(broken);
  });
});
