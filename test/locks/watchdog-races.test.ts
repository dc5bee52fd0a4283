import { describe, expect, test } from "vitest";
import type { Holdfast } from "../../src/holdfast.js";
import type { CallFault } from "../support/drivers/scripted-driver.js";
import { answerLate, deliverLate } from "../support/faults/call-faults.js";
import { gate } from "../support/run/gate.js";
import { watchLeaks } from "../support/run/leaks.js";
import { type SeededRandom, seededRandom } from "../support/run/seeded-random.js";
import { fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();

const FLOWS = 8;
const ROUNDS_EACH = 300;
const NAMES = ["a", "b", "c"];

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise(setImmediate);
}

/** Takes a lock in one of the ways there are, cancels that at some moment, and gives back what it got at another. */
async function oneRound(holdfast: Holdfast, random: SeededRandom): Promise<"entered" | "not"> {
  const lock = holdfast.getLock(NAMES[random.below(NAMES.length)] ?? "");
  const cancel = new AbortController();
  const { signal } = cancel;
  const stayTurns = random.below(4);
  const cancelled = turns(random.below(12)).then(() => cancel.abort());
  const way = random.below(4);
  try {
    if (way === 0) {
      await lock.using({ signal }, () => turns(stayTurns));
    } else if (way === 1) {
      await lock.using({ signal }, () => lock.using({ signal }, () => turns(stayTurns)));
    } else {
      const lease = way === 2 ? await lock.lock({ signal }) : await lock.tryLock({ signal });
      await turns(stayTurns);
      await lease?.unlock();
      if (lease === null) return "not";
    }
    return "entered";
  } catch (error) {
    if (error !== signal.reason) throw error;
    return "not";
  } finally {
    await cancelled;
  }
}

describe("acquiring, cancelling and releasing at once, thousands of times,", () => {
  test("leaves no renewal, no key and no timer behind [B1] [wire-S23]", { timeout: 60_000 }, async () => {
    const { holdfast, clock, driver, server } = open();
    const random = seededRandom();
    const outcomes = { entered: 0, not: 0 };
    let done = false;
    const flow = async () => {
      for (let i = 0; i < ROUNDS_EACH; i++) outcomes[await oneRound(holdfast, random)] += 1;
    };
    const flows = Promise.all(Array.from({ length: FLOWS }, flow)).finally(() => {
      done = true;
    });
    // So that renewals run in between, and meet each stage of the others.
    while (!done) {
      clock.block(400);
      await turns(10);
    }
    await flows;
    await clock.advance(0);
    expect(outcomes.entered + outcomes.not).toBe(FLOWS * ROUNDS_EACH);
    expect(Math.min(outcomes.entered, outcomes.not)).toBeGreaterThan(FLOWS * ROUNDS_EACH * 0.1);
    expect(driver.timesOf("lock-renew").length).toBeGreaterThan(0);
    expect(Object.keys(server.dump())).toEqual([]);
    const renewals = driver.timesOf("lock-renew").length;
    await clock.advance(60_000);
    expect(driver.timesOf("lock-renew")).toHaveLength(renewals);
    expect(clock.pendingTimers).toBe(0);
  });

  test("never lets a TTL rise again after a hold was given up without a release [B1]", async () => {
    const { holdfast, clock, driver, ttlMs } = open();
    const lock = holdfast.getLock("a");
    for (let i = 0; i < 50; i++) {
      const cancel = new AbortController();
      // The answer is lost to a caller that has gone, and the release behind the scenes is held up.
      const [answer, release] = [answerLate(), deliverLate()];
      void driver.next(answer, "lock-acquire");
      void driver.next(release, "lock-release");
      const refused = lock.lock({ signal: cancel.signal }).catch((error: unknown) => error);
      await turns(5);
      cancel.abort();
      await refused;
      answer.arrive();
      const ttls: number[] = [];
      for (let beats = 0; beats < 4; beats++) {
        ttls.push(ttlMs("a"));
        await clock.advance(500);
      }
      expect([...ttls].sort((x, y) => y - x)).toEqual(ttls);
      expect(ttls.at(-1)).toBeGreaterThan(0);
      await release.arrive();
      expect(ttlMs("a")).toBe(-2);
    }
    expect(driver.timesOf("lock-renew")).toEqual([]);
  });
});

test("a renewal that waits until its server is known leaves out what is released meanwhile", async () => {
  const { holdfast, clock, driver } = open();
  const [released, kept] = [await holdfast.getLock("a").lock(), await holdfast.getLock("b").lock()];
  const { opened, open: answer } = gate();
  const slow: CallFault = {
    name: "answered slowly",
    meet: async (deliver) => {
      await opened;
      return deliver();
    },
  };
  // The keys are on another server now.
  Object.assign(driver, { placeOf: () => "elsewhere" });
  const asked = driver.next(slow, "server-probe");
  await clock.advance(10_100);
  await asked;
  const releasing = released.unlock();
  answer();
  await releasing;
  await clock.advance(0);
  const renewals = driver.calls.filter(({ call }) => call.script.name === "lock-renew");
  expect(renewals.map(({ call }) => call.keys)).toEqual([["b"]]);
  await kept.unlock();
});
