import { beforeEach, describe, expect, test } from "vitest";
import { UnavailableError } from "../../src/errors.js";
import { events } from "../../src/events.js";
import { neverDeliver } from "../support/faults/call-faults.js";
import { aboutOf, endRecordings, recorded, recordedEnds } from "../support/run/recorded-events.js";
import { watched } from "../support/run/watched.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";
import { available, setAvailable } from "../support/worlds/permits.js";

const open = fakeTime();
endRecordings();

let time: FakeTime;
beforeEach(() => {
  time = open();
  setAvailable(time, 3);
});

/** The semaphore falls with the test. */
function semaphoreOf({ holdfast }: Pick<FakeTime, "holdfast">) {
  time.server.command("PEXPIRE", "s", 60_000);
  return holdfast.getSemaphore("s");
}

const ABOUT = { leaseMs: Number.POSITIVE_INFINITY, renewed: false };

describe("events about a semaphore", () => {
  test("tell of each acquisition, how many permits it brought and what it took", async () => {
    const ended = recordedEnds(events.acquire);
    const semaphore = semaphoreOf(time);
    await semaphore.acquire(2);
    await semaphore.tryAcquire(2);
    const late = watched(semaphore.acquire(2, { waitMs: 100 }));
    await time.clock.advance(100);
    expect(late.outcome).toHaveProperty("error");
    const about = { ...aboutOf(time), ...ABOUT, name: "s", kind: "semaphore" };
    const waitMs = Number.POSITIVE_INFINITY;
    expect(ended).toMatchObject([
      { ...about, waitMs, outcome: "acquired", via: "free", permits: 2, waitedMs: 0, attempts: 1 },
      { ...about, waitMs: 0, outcome: "refused", waitedMs: 0, attempts: 1 },
      { ...about, waitMs: 100, outcome: "timeout", waitedMs: 100, attempts: 2 },
    ]);
    expect(ended.map(({ via }) => via)).toEqual(["free", undefined, undefined]);
  });

  test("tell of permits that have ids who holds them", async () => {
    const semaphore = time.holdfast.getPermitExpirableSemaphore("s");
    const ended = recordedEnds(events.acquire);
    const permits = await semaphore.acquire(2, { leaseMs: 1_000 });
    const about = { ...aboutOf(time), name: "s", kind: "permit-expirable-semaphore" };
    const asked = { leaseMs: 1_000, renewed: false, waitMs: Number.POSITIVE_INFINITY };
    const brought = { permits: 2, holder: permits.ids.join(","), via: "free" };
    expect(ended).toEqual([
      { ...about, ...asked, ...brought, outcome: "acquired", waitedMs: 0, attempts: 1 },
    ]);
    const released = recorded(events.release);
    await time.clock.advance(500);
    const { holder } = brought;
    await permits.release();
    expect(released).toEqual([{ ...about, holder, heldMs: 500, holdCount: 1 }]);
    await semaphore.delete();
  });

  test("tell of permits that could not be given back after a body; they are, when Redis is back", async () => {
    const failed = recorded(events.releaseFailed);
    const semaphore = semaphoreOf(time);
    void time.driver.next(neverDeliver, "semaphore-add");
    const call = watched(semaphore.using(2, () => "done"));
    await time.clock.advance(3_100);
    expect(call.outcome).toEqual({ value: "done" });
    expect(failed).toEqual([
      { ...aboutOf(time), name: "s", kind: "semaphore", holder: "", error: expect.any(UnavailableError) },
    ]);
    await time.clock.advance(3_000);
    expect(available(time)).toBe("3");
  });
});
