import { expect, test } from "vitest";
import type { RawReply } from "../../src/protocol/script-call.js";
import { watched } from "../support/run/watched.js";
import { fakeTime } from "../support/worlds/fake-time.js";
import { arrived, KEY, PATIENT } from "../support/worlds/hand-off-scene.js";

const open = fakeTime();

test("the answer to a release that left the queue does not undo a later question's, by which its client stands there again [own-114]", async () => {
  const time = open(PATIENT);
  const { clock, driver } = time;
  const lockOf = ({ holdfast }: Pick<typeof time, "holdfast">) => holdfast.getLock(KEY);
  const [lock, two, three] = [lockOf(time), lockOf(time.connect(PATIENT)), lockOf(time.connect(PATIENT))];
  const waits = async (of: typeof lock) => {
    const call = watched(of.lock());
    await clock.advance(0);
    return call;
  };
  const frees = async (call: Awaited<ReturnType<typeof waits>>) => {
    const lease = await arrived(time, call);
    await arrived(time, watched(lease.unlock()));
  };
  // The first release does not look, the second gives the lock away, the third leaves it, the fourth gives it.
  let calls = [await waits(two), await waits(lock), await waits(three)] as const;
  for (const again of [two, lock, three]) {
    const [first, second, third] = calls;
    await frees(first);
    calls = [second, third, await waits(again)];
  }
  const [giving, mine, theirs] = calls;
  await frees(giving);
  const lease = await arrived(time, mine);

  // It was given the lock, and so leaves it to the fastest: its own next call. The answer to the release comes after that call's.
  let letThrough: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    letThrough = resolve;
  });
  const late = {
    name: "a late answer",
    meet: async (deliver: () => Promise<RawReply>) => {
      const reply = await deliver();
      await gate;
      return reply;
    },
  };
  void driver.next(late, "lock-release");
  const freed = watched(lease.unlock());
  const next = await arrived(time, watched(lock.lock()));
  expect(freed.outcome).toBeUndefined();
  letThrough();
  await arrived(time, freed);
  expect(theirs.outcome).toBeUndefined();

  await arrived(time, watched(next.unlock()));
  await frees(theirs);
  expect(time.server.dump()).toEqual({});
});
