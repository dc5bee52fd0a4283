import { describe, expect, test } from "vitest";
import { WaitTimeoutError } from "../../src/errors.js";
import type { Holdfast } from "../../src/holdfast.js";
import type { Lock } from "../../src/locks/lock.js";
import { gate } from "../support/run/gate.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();

/** Inside all of the locks, one flow enters the second of them, and later the first as well; another enters them as one. */
async function played(build: (client: Holdfast, locks: readonly Lock[]) => Lock): Promise<readonly string[]> {
  const time = open();
  const locks = ["a", "b", "c"].map((name) => time.holdfast.getLock(name));
  const [a, b] = locks;
  if (a === undefined || b === undefined) throw new Error("there are three");
  const together = build(time.holdfast, locks);
  const [inside, goOn] = [gate(), gate()];
  const order: string[] = [];
  const outer = watched(
    together.using(() =>
      Promise.all([
        b.using(async () => {
          inside.open();
          await goOn.opened;
          await a.using(() => order.push("one by one"));
        }),
        inside.opened.then(() => together.using(() => order.push("together"))),
      ]),
    ),
  );
  await time.clock.advance(500);
  order.push("goes on");
  goOn.open();
  await time.clock.advance(10_000);
  expect(outer.outcome).toHaveProperty("value");
  return order;
}

describe("a flow that wants several locks at once, one of which a sibling has entered", () => {
  test("waits for it without a part of a multi lock, so that the sibling can go on", async () => {
    const order = await played((client, locks) => client.getMultiLock(...locks));
    expect(order).toEqual(["goes on", "one by one", "together"]);
  });

  test("does without it where a majority makes a red lock", async () => {
    const order = await played((client, locks) => client.getRedLock(...locks));
    expect(order).toEqual(["together", "goes on", "one by one"]);
  });
});

test("a call for several locks whose time is up behind a call of its own id tells that the lock is held here [own-125]", async () => {
  const time = open();
  const { holdfast, clock } = time;
  const [a, b] = [holdfast.getLock("a"), holdfast.getLock("b")];
  const elsewhere = await time.connect().holdfast.getLock("a").lock();
  const first = watched(a.lock());
  const before = watched(a.lock({ threadId: 2 }));
  await clock.advance(5_000);
  const multi = watched(holdfast.getMultiLock(a, b).lock({ threadId: 2, waitMs: 100 }));
  await elsewhere.unlock();
  await clock.advance(100);
  expect(first.outcome).toHaveProperty("value");
  expect(multi.outcome).toEqual({ error: expect.any(WaitTimeoutError) });
  expect(before.outcome).toBeUndefined();
});
