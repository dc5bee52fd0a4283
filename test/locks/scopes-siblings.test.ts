import { describe, expect, test } from "vitest";
import { WaitTimeoutError } from "../../src/errors.js";
import type { Lock } from "../../src/locks/lock.js";
import { type Gate, gate } from "../support/run/gate.js";
import { watchLeaks } from "../support/run/leaks.js";
import { fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();

/** Branches inside one hold, each of which enters it once more and stays until its gate is opened. */
function branches(lock: Lock, names: readonly string[]) {
  const log: string[] = [];
  const gates = new Map(names.map((name) => [name, gate()]));
  const stay = (name: string) =>
    lock.using(async () => {
      log.push(`${name} in`);
      await gates.get(name)?.opened;
      log.push(`${name} out`);
    });
  return { log, stay, leave: (name: string) => (gates.get(name) as Gate).open() };
}

/** Opens a hold in which a sibling stays until it is told to leave; `wait` is called beside that sibling. */
async function besideASibling(lock: Lock, wait: () => Promise<unknown>): Promise<void> {
  const [entered, leave] = [gate(), gate()];
  await lock.using(async () => {
    const sibling = lock.using(() => {
      entered.open();
      return leave.opened;
    });
    await entered.opened;
    await wait().finally(leave.open);
    await sibling;
  });
}

async function reasonOf(refused: Promise<unknown>): Promise<unknown> {
  return refused.then(
    () => "it was let in",
    (error: unknown) => error,
  );
}

describe("siblings inside one hold", () => {
  test("run one after the other, in the order of their calls", async () => {
    const { holdfast, clock } = open();
    const lock = holdfast.getLock("a");
    const { log, stay, leave } = branches(lock, ["1", "2", "3"]);
    const all = lock.using(() => Promise.all(["1", "2", "3"].map(stay)));
    await clock.advance(100);
    expect(log).toEqual(["1 in"]);
    leave("3");
    leave("2");
    await clock.advance(100);
    expect(log).toEqual(["1 in"]);
    leave("1");
    await all;
    expect(log).toEqual(["1 in", "1 out", "2 in", "2 out", "3 in", "3 out"]);
  });

  test("cost no command while they wait", async () => {
    const { holdfast, clock, driver } = open();
    const lock = holdfast.getLock("a");
    const { stay, leave } = branches(lock, ["1", "2"]);
    const all = lock.using({ leaseMs: 90_000 }, () => Promise.all(["1", "2"].map(stay)));
    await clock.advance(100);
    const sent = driver.calls.length;
    await clock.advance(9_000);
    expect(driver.calls).toHaveLength(sent);
    expect(driver.channels.asked).toEqual([]);
    leave("1");
    leave("2");
    await all;
  });

  test("re-enter with the count that is left: no hold of the one that has gone is counted", async () => {
    const { holdfast, fields } = open();
    const lock = holdfast.getLock("a");
    const counts: number[] = [];
    await lock.using(async (outer) => {
      const enter = () => lock.using(({ holdCount }) => counts.push(holdCount));
      await Promise.all([enter(), enter(), enter()]);
      expect(fields("a")).toEqual({ [outer.holder]: "1" });
    });
    expect(counts).toEqual([2, 2, 2]);
  });

  test("let the body inside enter once more past a sibling that waits for that body", async () => {
    const { holdfast, clock } = open();
    const lock = holdfast.getLock("a");
    const log: string[] = [];
    const goOn = gate();
    const all = lock.using(() =>
      Promise.all([
        lock.using(async (lease) => {
          await goOn.opened;
          await lock.using(() => log.push("1 again"));
          await (await lock.lock({ threadId: lease.threadId })).unlock();
          log.push("1 out");
        }),
        lock.using(() => log.push("2 in")),
      ]),
    );
    await clock.advance(100);
    goOn.open();
    await clock.advance(100);
    expect(log).toEqual(["1 again", "1 out", "2 in"]);
    await all;
  });

  test("of different depth wait for the body that is in, and for nothing else", async () => {
    const { holdfast, clock } = open();
    const lock = holdfast.getLock("a");
    const log: string[] = [];
    const [first, second] = [gate(), gate()];
    const all = lock.using(() =>
      Promise.all([
        lock.using(() =>
          Promise.all([
            lock.using(() => first.opened.then(() => log.push("1.1 out"))),
            lock.using(() => second.opened.then(() => log.push("1.2 out"))),
          ]),
        ),
        lock.using(() => log.push("2 in")),
      ]),
    );
    await clock.advance(100);
    first.open();
    await clock.advance(100);
    second.open();
    await clock.advance(100);
    expect(log).toEqual(["1.1 out", "1.2 out", "2 in"]);
    await all;
  });

  test("are answered null by tryLock while one is in, and it costs no command", async () => {
    const { holdfast, driver } = open();
    const lock = holdfast.getLock("a");
    await besideASibling(lock, async () => {
      const sent = driver.calls.length;
      expect(await lock.tryLock()).toBeNull();
      expect(driver.calls).toHaveLength(sent);
    });
  });

  test("count the wait in waitMs, and are told who is in the way", async () => {
    const { holdfast, clock } = open();
    const lock = holdfast.getLock("a");
    await besideASibling(lock, async () => {
      const refused = reasonOf(lock.lock({ waitMs: 1_000, leaseMs: 500 }));
      await clock.advance(1_000);
      const error = await refused;
      expect(error).toBeInstanceOf(WaitTimeoutError);
      expect(error).toMatchObject({ lockName: "a", waitedMs: 1_000, obstacle: { own: true } });
      const { obstacle } = error as WaitTimeoutError;
      expect(obstacle?.holder).toContain(holdfast.clientId);
      expect(obstacle?.ttlMs).toBeGreaterThan(20_000);
    });
  });

  test("that give up after waitMs leave the line to the next", async () => {
    const { holdfast, clock } = open();
    const lock = holdfast.getLock("a");
    const { log, stay, leave } = branches(lock, ["1", "3"]);
    const all = lock.using(async () => {
      const first = stay("1");
      const second = reasonOf(lock.using({ waitMs: 500 }, () => log.push("2 in")));
      const third = stay("3");
      expect(await second).toBeInstanceOf(WaitTimeoutError);
      await Promise.all([first, third]);
    });
    await clock.advance(1_000);
    leave("1");
    leave("3");
    await all;
    expect(log).toEqual(["1 in", "1 out", "3 in", "3 out"]);
  });

  test("can be cancelled while they wait, with the reason of their signal, and leave nothing behind", async () => {
    const { holdfast, clock, driver } = open();
    const lock = holdfast.getLock("a");
    const cancel = new AbortController();
    const reason = new Error("changed my mind");
    await besideASibling(lock, async () => {
      const refused = reasonOf(lock.lock({ signal: cancel.signal }));
      await clock.advance(100);
      const sent = driver.calls.length;
      cancel.abort(reason);
      expect(await refused).toBe(reason);
      expect(driver.calls).toHaveLength(sent);
      expect(await reasonOf(lock.lock({ signal: cancel.signal }))).toBe(reason);
    });
  });

  test("are cancelled when the client is closed", async () => {
    const { holdfast, clock } = open();
    const lock = holdfast.getLock("a");
    await besideASibling(lock, async () => {
      const refused = reasonOf(lock.lock());
      const closed = holdfast.close({ graceMs: 1 });
      await clock.advance(10_000);
      expect(await refused).toMatchObject({ code: "ERR_HOLDFAST_CLOSED" });
      await closed;
    }).catch(() => undefined);
  });
});
