import { describe, expect, test } from "vitest";
import { ServerReplyError } from "../../src/driver/driver.js";
import type { PermitExpirableSemaphore, Semaphore } from "../../src/index.js";
import { answerWith } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();

const refused = answerWith(new ServerReplyError("OOM command not allowed when used memory > 'maxmemory'."));
/** Behind the scenes it is tried again after half a second, one and two. */
const REFUSALS = 3;
const BEFORE_THE_LAST_MS = 1_000;
const ALL_MS = 10_000;

/** What others wait for. */
interface Gift {
  readonly script: string;
  readonly before: number;
  readonly after: number;
  give(): Promise<unknown>;
  look(): Promise<number>;
}

const gifts: Readonly<Record<string, (time: FakeTime) => Promise<Gift>>> = {
  "release of a semaphore": async ({ holdfast }) => {
    const semaphore = holdfast.getSemaphore("s");
    await taken(semaphore);
    return { ...ofPermits(semaphore, "semaphore-add"), give: () => semaphore.release(2) };
  },
  "releaseIfExists of a semaphore": async ({ holdfast }) => {
    const semaphore = holdfast.getSemaphore("s");
    await taken(semaphore);
    return { ...ofPermits(semaphore, "semaphore-add"), give: () => semaphore.releaseIfExists(2) };
  },
  "release of permits that have ids": async ({ holdfast }) => {
    const semaphore = holdfast.getPermitExpirableSemaphore("s");
    await semaphore.trySetPermits(3);
    const permits = await semaphore.acquire(2);
    return { ...ofPermits(semaphore, "permit-release"), give: () => permits.release() };
  },
  "countDown of a latch": async ({ holdfast }) => {
    const latch = holdfast.getCountDownLatch("s");
    await latch.trySetCount(3);
    const look = () => latch.getCount();
    return { script: "latch-count-down", before: 3, after: 2, give: () => latch.countDown(), look };
  },
};

async function taken(semaphore: Semaphore): Promise<void> {
  await semaphore.trySetPermits(3);
  await semaphore.acquire(2);
}

function ofPermits(semaphore: Semaphore | PermitExpirableSemaphore, script: string) {
  return { script, before: 1, after: 3, look: () => semaphore.availablePermits() };
}

function refuse({ driver }: FakeTime, script: string): void {
  for (let times = 0; times < REFUSALS; times += 1) void driver.next(refused, script);
}

describe("what the server refuses for a while", () => {
  test.each(Object.entries(gifts))(
    "is told as open, and has its effect later, once: %s [own-26]",
    async (_, prepare) => {
      const time = open();
      const { script, before, after, give, look } = await prepare(time);
      refuse(time, script);
      const called = watched(give());
      await time.clock.advance(BEFORE_THE_LAST_MS);
      const error = { code: "ERR_HOLDFAST_UNAVAILABLE", outcomeUnknown: true };
      expect(called.outcome).toMatchObject({ error });
      expect(String((called.outcome as { error: unknown }).error)).toMatch(
        /OOM .*; the release is retried in the background$/,
      );
      expect(await look()).toBe(before);
      await time.clock.advance(ALL_MS);
      expect(await look()).toBe(after);
      time.server.flush();
    },
  );

  test("is the permit of a body that has ended: others get it afterwards [own-26]", async () => {
    const time = open();
    const semaphore = time.holdfast.getSemaphore("s");
    await semaphore.trySetPermits(1);
    refuse(time, "semaphore-add");
    expect(await semaphore.using(() => "done")).toBe("done");
    expect(await semaphore.tryAcquire()).toBe(false);
    await time.clock.advance(ALL_MS);
    expect(await semaphore.tryAcquire()).toBe(true);
    time.server.flush();
  });
});

test("of permits of which some are lost before it is decided, the others are given back all the same [own-34]", async () => {
  const time = open();
  const semaphore = time.holdfast.getPermitExpirableSemaphore("s");
  await semaphore.trySetPermits(3);
  const permits = await semaphore.acquire(3);
  await semaphore.updateLeaseTime(permits.ids[1] ?? "", 50);
  refuse(time, "permit-release");
  const released = watched(permits.release());
  await time.clock.advance(ALL_MS);
  expect(released.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_UNAVAILABLE" } });
  expect(await semaphore.availablePermits()).toBe(3);
  time.server.flush();
});
