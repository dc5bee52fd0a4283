import { expect, test } from "vitest";
import type { Lock } from "../../src/locks/lock.js";
import type { LockOptions } from "../../src/options.js";
import type { RawReply } from "../../src/protocol/script-call.js";
import { watched } from "../support/run/watched.js";
import { fakeTime } from "../support/worlds/fake-time.js";
import { arrived, KEY, PATIENT } from "../support/worlds/hand-off-scene.js";

const open = fakeTime();
const LEASE_MS = 5_000;

/** The first of three clients has the lock. Then wait: the second client, one more call of the first, and the third client. */
async function queued(options: LockOptions = {}) {
  const time = open(PATIENT);
  const [one, two, three] = [time, time.connect(PATIENT), time.connect(PATIENT)].map(({ holdfast }) =>
    holdfast.getLock(KEY),
  ) as [Lock, Lock, Lock];
  const waits = async (lock: Lock) => {
    const call = watched(lock.lock(options));
    await time.clock.advance(0);
    return call;
  };
  const lease = await arrived(time, await waits(one));
  const [second, mine, third] = [await waits(two), await waits(one), await waits(three)];
  return { time, lock: one, lease, second, mine, third };
}

test("a client that was handed the lock inside, and loses it, is not given it afterwards: no call of it waits [own-117]", async () => {
  const { time, lock, lease, second, mine, third } = await queued();

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
  const { time, lease, second, mine, third } = await queued({ leaseMs: LEASE_MS });
  const { clock } = time;

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
  const { time, lock, lease, second, mine, third } = await queued();
  const { clock, driver, holdfast } = time;
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
