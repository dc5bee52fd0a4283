import { expect, test } from "vitest";
import type { RawReply } from "../../src/protocol/script-call.js";
import { watched } from "../support/run/watched.js";
import { fakeTime } from "../support/worlds/fake-time.js";
import { arrived, KEY, PATIENT } from "../support/worlds/hand-off-scene.js";

const open = fakeTime();
const LEASE_MS = 5_000;

test("a client that was handed the lock inside, and loses it, is not given it afterwards: no call of it waits [own-117]", async () => {
  const time = open(PATIENT);
  const { clock } = time;
  const lockOf = ({ holdfast }: Pick<typeof time, "holdfast">) => holdfast.getLock(KEY);
  const [lock, two, three] = [lockOf(time), lockOf(time.connect(PATIENT)), lockOf(time.connect(PATIENT))];
  const waits = async (of: typeof lock) => {
    const call = watched(of.lock());
    await clock.advance(0);
    return call;
  };
  const lease = await arrived(time, await waits(lock));
  const second = await waits(two);
  const mine = await waits(lock);
  const third = await waits(three);

  await arrived(time, watched(lease.unlock()));
  const kept = await arrived(time, mine);
  expect(await arrived(time, watched(lock.forceUnlock()))).toBe(true);
  expect(kept.state).toBe("lost");
  await arrived(time, watched((await arrived(time, second)).unlock()));
  // It is given to the third at once, which has not waited until what was given to the first has run out.
  const entered = await arrived(time, third);
  expect(entered.state).toBe("held");
  await arrived(time, watched(entered.unlock()));
});

test("a client whose fixed lease was handed over inside, and ends, is not given the lock afterwards, although nobody looks at it [own-126]", async () => {
  const time = open(PATIENT);
  const { clock } = time;
  const lockOf = ({ holdfast }: Pick<typeof time, "holdfast">) => holdfast.getLock(KEY);
  const [lock, two, three] = [lockOf(time), lockOf(time.connect(PATIENT)), lockOf(time.connect(PATIENT))];
  const waits = async (of: typeof lock, leaseMs = LEASE_MS) => {
    const call = watched(of.lock({ leaseMs }));
    await clock.advance(0);
    return call;
  };
  const lease = await arrived(time, await waits(lock));
  const second = await waits(two);
  const mine = await waits(lock);
  const third = await waits(three);

  await arrived(time, watched(lease.unlock()));
  await arrived(time, mine);
  await clock.advance(LEASE_MS + 100);
  await arrived(time, watched((await arrived(time, second)).unlock()));
  expect((await arrived(time, third)).state).toBe("held");
  await arrived(time, watched((await arrived(time, third)).unlock()));
  // It left while Redis still had its lock, and is noted there without a place for ten minutes.
  time.server.command("DEL", `holdfast_waiting:{${KEY}}`);
});

test("a client that is closed while a lost lock leaves the queue has left it, and keeps nothing from the others", async () => {
  const time = open(PATIENT);
  const { clock, driver, holdfast } = time;
  const lockOf = ({ holdfast: client }: Pick<typeof time, "holdfast">) => client.getLock(KEY);
  const [lock, two, three] = [lockOf(time), lockOf(time.connect(PATIENT)), lockOf(time.connect(PATIENT))];
  const waits = async (of: typeof lock) => {
    const call = watched(of.lock());
    await clock.advance(0);
    return call;
  };
  const lease = await arrived(time, await waits(lock));
  const second = await waits(two);
  const mine = await waits(lock);
  const third = await waits(three);
  await arrived(time, watched(lease.unlock()));
  const kept = await arrived(time, mine);

  // The leave is on its way for 50 ms.
  const late = {
    name: "a late request",
    meet: async (deliver: () => Promise<RawReply>) => {
      await new Promise<void>((resolve) => void clock.schedule(50, resolve));
      return deliver();
    },
  };
  void driver.next(late, "lock-release");
  await arrived(time, watched(lock.forceUnlock()));
  expect(kept.state).toBe("lost");
  const closed = watched(holdfast.close());
  await clock.advance(0);
  expect(closed.outcome).toBeUndefined();
  await clock.advance(50);
  expect(closed.outcome).toEqual({ value: undefined });
  const members = time.server.command("ZRANGE", `holdfast_waiting:{${KEY}}`, "0", "-1") as unknown[];
  expect(members.map(String)).not.toContain(holdfast.clientId);

  await arrived(time, watched((await arrived(time, second)).unlock()));
  await arrived(time, watched((await arrived(time, third)).unlock()));
});
