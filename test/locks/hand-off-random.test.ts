import { expect, test } from "vitest";
import type { Lease } from "../../src/lease.js";
import type { LockOptions } from "../../src/options.js";
import {
  answerLate,
  deliverLate,
  deliverTwice,
  loseReply,
  neverDeliver,
  rejectAtOnce,
  swallowReply,
} from "../support/call-faults.js";
import { type FakeTime, type FakeTimeClient, fakeTime } from "../support/fake-time.js";
import { KEY } from "../support/hand-off-scene.js";
import type { CallFault } from "../support/scripted-driver.js";
import { type SeededRandom, seededRandom } from "../support/seeded-random.js";
import { watched } from "../support/watched.js";

const open = fakeTime();

const HISTORIES = 60;
const TASKS = 8;
const ROUNDS = 6;
const COMMAND_MS = 500;
const SHORTEST_LEASE_MS = 600;
/** A naming or a release that is not answered, and the release or the question behind it. */
const LONGEST_UNLOCK_MS = 4 * COMMAND_MS;
/** A command that is not answered, and another one behind it, before somebody who waits is in. */
const LONGEST_IDLE_MS = 2 * COMMAND_MS + 200;
/** By then all have been in, or have given up. */
const LONGEST_MS = 200_000;
/** By then whatever was left has ended by itself, and every clean-up. */
const CLEAN_MS = 8_000;
/** The steps in which time passes and is looked at. */
const STEP_MS = 5;

/** Two clients whose tasks want one lock, on ways on which some calls get lost, come late or come twice. */
class History {
  /** What should not have happened. */
  readonly problems: string[] = [];
  readonly #random: SeededRandom;
  readonly #time: FakeTime;
  readonly #clients: readonly FakeTimeClient[];
  readonly #faultsInHundred: number;
  /** Those who are inside, and who they are. */
  readonly #inside = new Map<Lease, string>();
  #wanting = 0;
  #idleSinceMs: number;
  /** Nobody comes any more, and nothing goes wrong. */
  #isOver = false;

  constructor(random: SeededRandom) {
    this.#random = random;
    const options = {
      watchdogMs: 3_000,
      safetyPeriodMs: 5_000,
      commandTimeoutMs: COMMAND_MS,
      handOff: { maxCount: this.#pick([2, 10, 100]), maxMs: this.#pick([50, 100_000]) },
    };
    this.#time = open(options);
    this.#idleSinceMs = this.#time.clock.monotonicMs();
    this.#clients = [this.#time, this.#time.connect(options)];
    this.#faultsInHundred = this.#pick([0, 5, 20]);
    for (const client of this.#clients) this.#plague(client);
  }

  /** How often the clients have told Redis that one holder follows another. */
  get handOvers(): number {
    return this.#clients.flatMap(({ driver }) => driver.names).filter((name) => name === "lock-succeed")
      .length;
  }

  /** @param closes whether the clients are closed in the middle */
  async play(closes: boolean): Promise<void> {
    const unhandled = (error: unknown) => void this.problems.push(`unhandled: ${String(error)}`);
    process.on("unhandledRejection", unhandled);
    const visits = Array.from({ length: TASKS }, (_, task) => watched(this.#visits(task)));
    const haveEnded = () => visits.every(({ outcome }) => outcome !== undefined);
    if (closes) await this.#closeAfter(300, haveEnded);
    else if (!(await this.#pass(LONGEST_MS, haveEnded))) this.problems.push("somebody never gets in");
    this.#isOver = true;
    const isFree = () => Object.keys(this.#time.fields(KEY)).length === 0;
    if (!(await this.#pass(CLEAN_MS, isFree))) this.problems.push(`left for ${this.#time.ttlMs(KEY)} ms`);
    for (const { outcome } of visits) {
      if (outcome !== undefined && "error" in outcome) this.problems.push(`failed: ${String(outcome.error)}`);
    }
    process.off("unhandledRejection", unhandled);
  }

  async #closeAfter(ms: number, haveEnded: () => boolean): Promise<void> {
    await this.#pass(ms, haveEnded);
    this.#isOver = true;
    const closed = this.#clients.map(({ holdfast }) => watched(holdfast.close({ releaseHeld: true })));
    const areClosed = () => closed.every(({ outcome }) => outcome !== undefined);
    if (!(await this.#pass(10_000, areClosed))) this.problems.push("close() never ends");
    if (!(await this.#pass(30_000, haveEnded))) this.problems.push("calls never end after close()");
  }

  /** Lets time pass until something is so. @returns false when it is not in time */
  async #pass(longestMs: number, isSo: () => boolean): Promise<boolean> {
    const { clock } = this.#time;
    const endMs = clock.monotonicMs() + longestMs;
    while (!isSo() && clock.monotonicMs() < endMs) {
      await clock.advance(STEP_MS);
      this.#lookForIdleness(clock.monotonicMs());
    }
    return isSo();
  }

  #lookForIdleness(nowMs: number): void {
    const isIdle = this.#wanting > 0 && !this.#isOver && Object.keys(this.#time.fields(KEY)).length === 0;
    if (!isIdle) this.#idleSinceMs = nowMs;
    else if (nowMs - this.#idleSinceMs > LONGEST_IDLE_MS) {
      this.problems.push(`free at ${nowMs}, though ${this.#wanting} want it`);
      this.#idleSinceMs = nowMs;
    }
  }

  /** Has calls of a client meet a fault, now and then. */
  #plague({ driver }: FakeTimeClient): void {
    const concerns = ({ script }: { script: { name: string } }) =>
      !this.#isOver && script.name !== "server-probe" && this.#random.below(100) < this.#faultsInHundred;
    const next = () => {
      const fault: CallFault = {
        name: "any",
        meet: (deliver, way) => {
          next();
          return this.#anyFault().meet(deliver, way);
        },
      };
      void driver.next(fault, concerns);
    };
    next();
  }

  #anyFault(): CallFault {
    const late = this.#pick([deliverLate({ told: true }), deliverLate(), answerLate()]);
    const fault = this.#pick([loseReply, deliverTwice, swallowReply, neverDeliver, rejectAtOnce, late, late]);
    if (fault === late) {
      const ms = this.#random.below(this.#pick([20, 700, 3_000]));
      // Whoever has sent it sees what becomes of it.
      this.#time.clock.schedule(ms, () => void Promise.resolve(late.arrive()).catch(() => undefined));
    }
    return fault;
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#time.clock.schedule(ms, resolve));
  }

  /** One task wants the lock again and again. */
  async #visits(task: number): Promise<void> {
    for (let round = 0; round < ROUNDS && !this.#isOver; round += 1) {
      await this.#sleep(this.#random.below(30));
      const lease = await this.#want(task);
      if (lease === null) continue;
      this.#entered(lease, `${task}/${round}`);
      await this.#stay(lease, task);
      await this.#leave(lease);
    }
  }

  #lockOf(task: number) {
    const { holdfast } = this.#clients[task % 2] as FakeTimeClient;
    return isReentrant(task) ? holdfast.getLock(KEY) : holdfast.getNonReentrantLock(KEY);
  }

  /** @returns null for one who has given up, was refused or was told that Redis does not answer */
  async #want(task: number): Promise<Lease | null> {
    const lock = this.#lockOf(task);
    this.#wanting += 1;
    try {
      return await (this.#happens(10) ? lock.tryLock({ leaseMs: 1_000 }) : lock.lock(this.#anyWish()));
    } catch {
      return null;
    } finally {
      this.#wanting -= 1;
    }
  }

  #anyWish(): LockOptions {
    const leaving = new AbortController();
    const wish = { signal: leaving.signal };
    if (this.#happens(15)) {
      this.#time.clock.schedule(this.#random.below(40), () => leaving.abort(new Error("left")));
    }
    return {
      ...wish,
      ...(this.#happens(40) ? { leaseMs: this.#pick([SHORTEST_LEASE_MS, 1_000, 2_000]) } : {}),
      ...(this.#happens(10) ? { waitMs: this.#random.below(50) } : {}),
    };
  }

  #entered(lease: Lease, who: string): void {
    if (lease.state === "held") {
      for (const [other, whoElse] of this.#inside) {
        if (other.state === "held") this.problems.push(`${whoElse} and ${who} at once`);
      }
    }
    this.#inside.set(lease, who);
  }

  async #stay({ threadId }: Lease, task: number): Promise<void> {
    if (this.#happens(50)) await this.#sleep(this.#random.below(this.#happens(10) ? 1_500 : 10));
    if (!isReentrant(task) || !this.#happens(15)) return;
    try {
      // No longer than any other lease: that a TTL falls again with an inner hold is told to nobody.
      const inner = await this.#lockOf(task).lock({ threadId, waitMs: 1_000, leaseMs: SHORTEST_LEASE_MS });
      await inner.unlock();
    } catch {
      // The outer one may be over by now, or Redis does not answer.
    }
  }

  async #leave(lease: Lease): Promise<void> {
    const { clock } = this.#time;
    const wasHeld = lease.state === "held";
    const who = this.#inside.get(lease);
    this.#inside.delete(lease);
    const sinceMs = clock.monotonicMs();
    const leftMs = lease.remainingMs();
    try {
      await lease.unlock();
    } catch (error) {
      const isDenied = (error as { code?: string }).code === "ERR_HOLDFAST_NOT_HELD";
      // A lease may end while its release is on its way.
      const hadTime = clock.monotonicMs() - sinceMs < leftMs;
      if (wasHeld && isDenied && hadTime) this.problems.push(`${who} is told that it had nothing`);
    }
    const tookMs = clock.monotonicMs() - sinceMs;
    if (tookMs > LONGEST_UNLOCK_MS) this.problems.push(`${who} leaves for ${tookMs} ms`);
  }

  #pick<T>(choices: readonly T[]): T {
    return choices[this.#random.below(choices.length)] as T;
  }

  #happens(inHundred: number): boolean {
    return this.#random.below(100) < inHundred;
  }
}

/** Some use a lock that nobody enters twice. */
function isReentrant(task: number): boolean {
  return task % 5 !== 0;
}

test("a lock that calls of two clients hand on, whatever meets their commands, has one holder at a time, is never idle while somebody wants it, and leaves nothing behind", {
  timeout: 60_000,
}, async () => {
  const random = seededRandom();
  let handOvers = 0;
  for (let number = 0; number < HISTORIES; number += 1) {
    const history = new History(random);
    await history.play(number % 4 === 3);
    expect({ number, problems: history.problems }).toEqual({ number, problems: [] });
    handOvers += history.handOvers;
  }
  expect(handOvers).toBeGreaterThan(HISTORIES);
});
