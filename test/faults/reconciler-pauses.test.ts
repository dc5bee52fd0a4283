import { describe, expect, test } from "vitest";
import { fairTimes } from "../../src/protocol/fair-scripts.js";
import type { CallFault } from "../support/drivers/scripted-driver.js";
import { swallowReply } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { leaseOf, queued, release } from "../support/worlds/fair-waiters.js";
import { fakeTime } from "../support/worlds/fake-time.js";
import { arrived, got, HOUR_MS, KEY, microtasks, scenes } from "../support/worlds/hand-off-scene.js";
import { gapsOf, refuse } from "../support/worlds/stays.js";

watchLeaks();
const open = fakeTime();
const scene = scenes(open);

const COMMAND_MS = 300;

/** A waiter of a fair lock was granted it, and has not confirmed that yet. */
async function granted() {
  const time = open();
  const lease = await time.holdfast.getFairLock("a").lock();
  const waiting = await queued(time, {}, time.connect({ commandTimeoutMs: COMMAND_MS }));
  await lease.unlock();
  await time.clock.advance(0);
  expect(leaseOf(waiting).state).toBe("held");
  return { time, waiting };
}

describe("the confirmation of a grant", () => {
  test("without an answer is asked for again after pauses that double, each time with a new deadline", async () => {
    const { time, waiting } = await granted();
    const { driver } = waiting;
    for (let i = 0; i < 3; i += 1) void driver.next(swallowReply, "fair-release");
    await time.clock.advance(fairTimes.grantMs);
    expect(gapsOf({ driver }, "fair-release")).toEqual([50, 100, 200].map((ms) => COMMAND_MS + ms));
    const deadlines = driver.calls
      .filter(({ call }) => call.script.name === "fair-release")
      .map(({ call }) => Number(call.args[0]));
    const sentMs = driver.timesOf("fair-release");
    const startMs = (deadlines[0] ?? 0) - (sentMs[0] ?? 0);
    expect(deadlines.map((ms) => ms - startMs)).toEqual(sentMs);
    expect([leaseOf(waiting).state, time.ttlMs("a") > fairTimes.grantMs]).toEqual(["held", true]);
    await release(waiting, time);
  });

  test("that is refused is asked for again after pauses that double, and not once more when it is written", async () => {
    const { time, waiting } = await granted();
    refuse(waiting.driver, "fair-release", 5);
    await time.clock.advance(2 * fairTimes.grantMs);
    expect(gapsOf(waiting, "fair-release")).toEqual([50, 100, 200, 400, 800]);
    expect(leaseOf(waiting).state).toBe("held");
    await release(waiting, time);
  });

  test("ends with its hold, which keeps its field until it is given back", async () => {
    const { time, waiting } = await granted();
    const { driver, holder } = waiting;
    refuse(driver, "fair-release", 100);
    await time.clock.advance(fairTimes.grantMs - 1);
    const sent = driver.timesOf("fair-release").length;
    expect([leaseOf(waiting).state, time.fields("a")]).toEqual(["lost", { [holder]: "1" }]);
    await time.clock.advance(0);
    expect(driver.timesOf("fair-release")).toHaveLength(sent);
    await time.clock.advance(fairTimes.grantMs);
    expect([driver.timesOf("fair-release").length, time.fields("a")]).toEqual([sent, {}]);
  });
});

describe("a naming that fails while the lock passes on", () => {
  /** One call after the other has the lock, for less time than the pauses are. */
  async function passedOn() {
    const { time, holder, waiting } = await scene(
      Array.from({ length: 12 }, () => ({})),
      { handOff: { maxMs: HOUR_MS } },
    );
    refuse(time.driver, "lock-succeed", 7);
    void holder.unlock();
    await time.clock.advance(0);
    return { time, waiting };
  }

  test("is followed by another after pauses that double up to a second, however often it passes on", async () => {
    const { time, waiting } = await passedOn();
    const holders: string[] = [got(waiting[0]).holder];
    for (const [at, pauseMs] of [50, 100, 200, 400, 800, 1_000, 1_000].entries()) {
      const { driver, clock } = time;
      await arrived(time, watched(got(waiting[at]).unlock()));
      await clock.advance(pauseMs - 1);
      expect(driver.timesOf("lock-succeed")).toHaveLength(at + 1);
      holders.push(got(waiting[at + 1]).holder);
      await clock.advance(1);
      expect(driver.timesOf("lock-succeed")).toHaveLength(at + 2);
    }
    const named = time.driver.calls.filter(({ call }) => call.script.name === "lock-succeed");
    expect(named.map(({ call }) => call.args[2])).toEqual(holders);
    expect(time.fields(KEY)).toEqual({ [holders.at(-1) ?? ""]: "1" });
    for (const waiter of waiting.slice(7)) await arrived(time, watched(got(waiter).unlock()));
    expect(time.fields(KEY)).toEqual({});
  });

  test.each([
    { who: "the same holder", isPassedOn: false, gaps: [50, 100] },
    { who: "the holder that has followed meanwhile, at once", isPassedOn: true, gaps: [0, 50] },
  ])("by its answer that it came too late, is sent again for $who", async ({ isPassedOn, gaps }) => {
    const { time, holder, waiting } = await scene([{}, {}]);
    const { driver, clock } = time;
    let isToPass = isPassedOn;
    const late: CallFault = {
      name: "late",
      meet: async () => {
        await microtasks();
        if (isToPass) void got(waiting[0]).unlock();
        isToPass = false;
        return [clock.wallMs(), "late"];
      },
    };
    for (let i = 0; i < 2; i += 1) void driver.next(late, "lock-succeed");
    void holder.unlock();
    await clock.advance(1_000);
    expect(gapsOf({ driver }, "lock-succeed")).toEqual(gaps);
    const last = got(waiting[isPassedOn ? 1 : 0]);
    expect([last.state, time.fields(KEY)]).toEqual(["held", { [last.holder]: "1" }]);
    for (const waiter of waiting.slice(isPassedOn ? 1 : 0))
      await arrived(time, watched(got(waiter).unlock()));
  });
});
