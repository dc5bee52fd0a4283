import { beforeEach, describe, expect, test } from "vitest";
import { ClientClosedError } from "../../src/errors.js";
import { events } from "../../src/events.js";
import { type Gate, gate } from "../support/run/gate.js";
import { watchLeaks } from "../support/run/leaks.js";
import { endRecordings, recorded } from "../support/run/recorded-events.js";
import { type Watched, watched } from "../support/run/watched.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";
import { available, setAvailable } from "../support/worlds/permits.js";

watchLeaks();
const open = fakeTime();
endRecordings();

describe("a client that closes while a body has two of three permits", () => {
  let time: FakeTime;
  let holdfast: FakeTime["holdfast"];
  let over: Gate;
  let call: Watched<void>;
  beforeEach(async () => {
    time = open();
    setAvailable(time, 3);
    // The semaphore falls with the test.
    time.server.command("PEXPIRE", "s", 60_000);
    holdfast = time.connect().holdfast;
    over = gate();
    call = watched(holdfast.getSemaphore("s").using(2, () => over.opened));
    await time.clock.advance(10);
    expect(available(time)).toBe("1");
  });

  test("gives them back when the body ends within the time of grace", async () => {
    const closing = watched(holdfast.close({ graceMs: 10_000 }));
    await time.clock.advance(5_000);
    expect([closing.outcome, available(time)]).toEqual([undefined, "1"]);
    over.open();
    await time.clock.advance(1_000);
    expect([call.outcome, closing.outcome]).toEqual([{ value: undefined }, { value: undefined }]);
    expect(available(time)).toBe("3");
  });

  test("refuses all that others ask for meanwhile, and sends nothing for them", async () => {
    const [semaphore, leasing] = [holdfast.getSemaphore("s"), holdfast.getPermitExpirableSemaphore("p")];
    const latch = holdfast.getCountDownLatch("l");
    const closing = watched(holdfast.close({ graceMs: 10_000 }));
    await time.clock.advance(100);
    const dump = time.server.dump();
    const calls: readonly (() => Promise<unknown>)[] = [
      () => semaphore.acquire(),
      () => semaphore.acquire(0),
      () => semaphore.drainPermits(),
      () => semaphore.availablePermits(),
      () => semaphore.delete(),
      () => leasing.trySetPermits(1),
      () => leasing.setPermits(1),
      () => leasing.getPermits(),
      () => leasing.updateLeaseTime("0".repeat(32), 1_000),
      () => latch.trySetCount(1),
      () => latch.getCount(),
      () => latch.await({ waitMs: 1 }),
      () => latch.delete(),
    ];
    const asked = calls.map((refused) => watched(refused()));
    await time.clock.advance(0);
    const closed = { error: expect.any(ClientClosedError) };
    expect(asked.map(({ outcome }) => outcome)).toEqual(calls.map(() => closed));
    expect(time.server.dump()).toEqual(dump);
    over.open();
    await time.clock.advance(1_000);
    expect(closing.outcome).toEqual({ value: undefined });
  });

  test("gives them back once, though the body goes on, when it is told to release what is held", async () => {
    const failed = recorded(events.releaseFailed);
    const closing = watched(holdfast.close({ releaseHeld: true }));
    await time.clock.advance(5_000);
    expect([closing.outcome, available(time)]).toEqual([{ value: undefined }, "3"]);
    over.open();
    await time.clock.advance(1_000);
    expect([call.outcome, failed, available(time)]).toEqual([{ value: undefined }, [], "3"]);
  });

  test("tells that they could not be given back when the body ends later", async () => {
    const failed = recorded(events.releaseFailed);
    const closing = holdfast.close();
    await time.clock.advance(10_000);
    await closing;
    over.open();
    await time.clock.advance(1_000);
    expect([call.outcome, available(time)]).toEqual([{ value: undefined }, "1"]);
    expect(failed).toMatchObject([{ name: "s", kind: "semaphore", error: { code: "ERR_HOLDFAST_CLOSED" } }]);
  });
});
