import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { WaitTimeoutError } from "../../src/errors.js";
import type { Holdfast } from "../../src/holdfast.js";
import type { Lock } from "../../src/locks/lock.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();

const kinds: readonly (readonly [string, (client: Holdfast) => Lock])[] = [
  ["lock", (client) => client.getLock("a")],
  ["fair lock", (client) => client.getFairLock("a")],
  ["spin lock", (client) => client.getSpinLock("a")],
  ["multi lock", (client) => client.getMultiLock(client.getLock("a"))],
  ["red lock", (client) => client.getRedLock(client.getLock("a"))],
];

/** Redis tells TTLs in whole milliseconds, and random pauses end in between. */
function expectAbout(ttlMs: number | undefined, wantedMs: number): void {
  expect(ttlMs).toBeGreaterThanOrEqual(wantedMs - 1);
  expect(ttlMs).toBeLessThanOrEqual(wantedMs + 1);
}

describe.each(kinds)("a wait for a %s that ends in vain", (_kind, of) => {
  test("tells how long the holder's lease lasts from then on [own-17]", async () => {
    const { holdfast, connect, clock } = open();
    const lease = await of(connect().holdfast).lock({ leaseMs: 10_000 });
    const waiting = watched(of(holdfast).lock({ waitMs: 3_400 }));
    await clock.advance(3_400);
    const { error } = waiting.outcome as { error: WaitTimeoutError };
    expect(error).toBeInstanceOf(WaitTimeoutError);
    expect(error.obstacle).toEqual({ holder: lease.holder, ttlMs: expect.any(Number), own: false });
    expectAbout(error.obstacle?.ttlMs, 6_600);
    expect(error.message).toContain(`(its lease ends in ${error.obstacle?.ttlMs} ms unless it is renewed)`);
    await lease.unlock();
  });

  test("tells that of a lease that was renewed meanwhile", async () => {
    const { holdfast, connect, clock } = open();
    const lease = await of(connect().holdfast).lock();
    const waiting = watched(of(holdfast).lock({ waitMs: 26_000 }));
    await clock.advance(26_000);
    const { error } = waiting.outcome as { error: WaitTimeoutError };
    // It was renewed after 20 s, and seen within a safety period of that.
    expectAbout(error.obstacle?.ttlMs, 24_000);
    await lease.unlock();
  });
});

test("nothing but what is documented is shown of it [own-17]", async () => {
  const { holdfast, clock } = open();
  const lease = await holdfast.getLock("a").lock();
  const waits = [1, 2].map(() => watched(holdfast.getLock("a").lock({ waitMs: 1_000 })));
  await clock.advance(1_000);
  for (const { outcome } of waits) {
    const { error } = outcome as { error: WaitTimeoutError };
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      code: "ERR_HOLDFAST_WAIT_TIMEOUT",
      lockName: "a",
      waitedMs: 1_000,
      obstacle: { holder: lease.holder, ttlMs: 29_000, own: true },
    });
    expect(inspect(error)).not.toContain("seenMs");
  }
  await lease.unlock();
});
