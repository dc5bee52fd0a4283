import { expect, test } from "vitest";
import { events } from "../../src/events.js";
import type { Lock } from "../../src/locks/lock.js";
import { untilCollected } from "../support/run/garbage.js";
import { endRecordings, recorded } from "../support/run/recorded-events.js";
import { watched } from "../support/run/watched.js";
import { fakeTime } from "../support/worlds/fake-time.js";
import { arrived, KEY, PATIENT } from "../support/worlds/hand-off-scene.js";

endRecordings();
const open = fakeTime({ forgets: true });
const LEASE_MS = 5_000;

test("a client that was handed the lock inside, and forgets its lease, is not given the lock afterwards [own-126]", async () => {
  const time = open(PATIENT);
  const { clock } = time;
  const abandoned = recorded(events.leaseAbandoned);
  const lockOf = ({ holdfast }: Pick<typeof time, "holdfast">) => holdfast.getLock(KEY);
  const [lock, two, three] = [lockOf(time), lockOf(time.connect(PATIENT)), lockOf(time.connect(PATIENT))];
  const waits = async (of: Lock) => {
    const call = watched(of.lock({ leaseMs: LEASE_MS }));
    await clock.advance(0);
    return call;
  };
  const lease = await arrived(time, await waits(lock));
  const second = await waits(two);
  const mine = watched(lock.lock({ leaseMs: LEASE_MS }).then(({ holder }) => holder));
  await clock.advance(0);
  const third = await waits(three);

  await arrived(time, watched(lease.unlock()));
  const holder = await arrived(time, mine);
  await untilCollected(() => abandoned.length > 0);
  expect(abandoned).toMatchObject([{ name: KEY, holder }]);
  await clock.advance(LEASE_MS + 100);
  await arrived(time, watched((await arrived(time, second)).unlock()));
  await arrived(time, watched((await arrived(time, third)).unlock()));
  // It left while Redis still had its lock, and is noted there without a place for ten minutes.
  time.server.command("DEL", `holdfast_waiting:{${KEY}}`);
});
