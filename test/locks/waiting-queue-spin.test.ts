import { expect, test } from "vitest";
import type { RawReply } from "../../src/protocol/script-call.js";
import { watched } from "../support/run/watched.js";
import { fakeTime } from "../support/worlds/fake-time.js";
import { arrived, KEY, PATIENT } from "../support/worlds/hand-off-scene.js";

const open = fakeTime();
const SPUN_MS = 35;

test("a call that waits behind a spin lock of its client hears of a release after that has given up [own-120]", async () => {
  const time = open(PATIENT);
  const { clock, driver, holdfast } = time;
  const holder = await arrived(time, watched(time.connect(PATIENT).holdfast.getLock(KEY).lock()));
  // Its own channel is open from then on, and is kept for a while.
  const earlier = watched(holdfast.getLock(KEY).lock({ waitMs: 5 }));
  await clock.advance(6);
  expect(earlier.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_WAIT_TIMEOUT" } });
  const backoff = { type: "constant", delayMs: 10 } as const;
  // The spin lock asks after 0, 10, 20 and 30 ms; the last answer comes when its time is up.
  const spinning = watched(holdfast.getSpinLock(KEY, { backoff }).lock({ waitMs: SPUN_MS }));
  await clock.advance(25);
  const behind = watched(holdfast.getLock(KEY).lock());
  const late = {
    name: "a late answer",
    meet: async (deliver: () => Promise<RawReply>) => {
      const reply = await deliver();
      await new Promise<void>((resolve) => void clock.schedule(10, resolve));
      return reply;
    },
  };
  void driver.next(late, "lock-acquire");
  await clock.advance(25);
  expect(spinning.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_WAIT_TIMEOUT" } });
  expect(behind.outcome).toBeUndefined();

  await arrived(time, watched(holder.unlock()));
  const lease = await arrived(time, behind);
  await arrived(time, watched(lease.unlock()));
});
