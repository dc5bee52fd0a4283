import { beforeEach, describe, expect, test } from "vitest";
import { UnavailableError } from "../../src/errors.js";
import { type AcquireEvent, events } from "../../src/events.js";
import { neverDeliver } from "../support/faults/call-faults.js";
import { endRecordings, recorded } from "../support/run/recorded-events.js";
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

/** What is told of acquisitions when they end. */
function recordedEnds() {
  const ended: AcquireEvent[] = [];
  const asyncEnd = (event: AcquireEvent) => void ended.push({ ...event });
  const all = { start() {}, end() {}, asyncStart() {}, asyncEnd, error() {} };
  events.acquire.subscribe(all);
  return { ended, stop: () => events.acquire.unsubscribe(all) };
}

describe("events about a semaphore", () => {
  test("tell of each acquisition, how many permits it brought and what it took", async () => {
    const { ended, stop } = recordedEnds();
    const semaphore = semaphoreOf(time);
    await semaphore.acquire(2);
    await semaphore.tryAcquire(2);
    const late = watched(semaphore.acquire(2, { waitMs: 100 }));
    await time.clock.advance(100);
    stop();
    expect(late.outcome).toHaveProperty("error");
    const about = { name: "s", kind: "semaphore" };
    expect(ended).toEqual([
      { ...about, outcome: "acquired", permits: 2, waitedMs: 0, attempts: 1 },
      { ...about, outcome: "refused", waitedMs: 0, attempts: 1 },
      { ...about, outcome: "timeout", waitedMs: 100, attempts: 2 },
    ]);
  });

  test("tell of permits that have ids who holds them", async () => {
    const semaphore = time.holdfast.getPermitExpirableSemaphore("s");
    const { ended, stop } = recordedEnds();
    const permits = await semaphore.acquire(2, { leaseMs: 1_000 });
    stop();
    const about = { name: "s", kind: "permit-expirable-semaphore" };
    const brought = { permits: 2, holder: permits.ids.join(",") };
    expect(ended).toEqual([{ ...about, ...brought, outcome: "acquired", waitedMs: 0, attempts: 1 }]);
    await permits.release();
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
      { name: "s", kind: "semaphore", holder: "", error: expect.any(UnavailableError) },
    ]);
    await time.clock.advance(3_000);
    expect(available(time)).toBe("3");
  });
});
