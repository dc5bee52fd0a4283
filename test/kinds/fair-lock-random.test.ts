import { describe, expect, test } from "vitest";
import { FakeClock, MemoryServer, memoryDriver } from "../../src/driver/memory/index.js";
import { Holdfast } from "../../src/holdfast.js";
import type { Lease } from "../../src/lease.js";
import { fairTimes } from "../../src/protocol/fair-scripts.js";
import { QUEUE, texts } from "../support/fair-queue.js";
import { LateMessagesDriver } from "../support/late-messages.js";
import { watchLeaks } from "../support/leaks.js";
import { type SeededRandom, seededRandom } from "../support/seeded-random.js";
import { skewedClock } from "../support/skewed-clock.js";

watchLeaks();

const HOUR_MS = 60 * 60 * 1_000;
const WATCHDOG_MS = 6_000;
/** What one dead waiter or holder costs at most: the TTL of what it held, and a sign of life of the others. */
const DEAD_MS = WATCHDOG_MS + fairTimes.aliveMs + 2_000;

/** A client on a machine whose wall clock is wrong. */
interface Machine {
  readonly client: Holdfast;
  readonly driver: LateMessagesDriver;
}

type Fate = "waits" | "inside" | "left" | "gave up";

interface Task {
  readonly machine: Machine;
  readonly leaving: AbortController;
  fate: Fate;
  lease?: Lease;
}

/** Tasks of several clients that come, wait, hold, give up and die at random, in a time that the test makes pass. */
class World {
  readonly clock = new FakeClock();
  readonly server = new MemoryServer({ clock: this.clock });
  /** All tasks, in the order in which they came. */
  readonly tasks: Task[] = [];
  readonly machines: readonly Machine[];
  /** The tasks that have entered, in that order. */
  readonly entered: Task[] = [];
  readonly #random: SeededRandom;

  constructor(random: SeededRandom) {
    this.#random = random;
    this.machines = Array.from({ length: 4 }, (_, i) => this.#machine((i - 1) * 7 * HOUR_MS));
  }

  get alive(): readonly Machine[] {
    return this.machines.filter(({ driver }) => !driver.dead);
  }

  #machine(aheadMs: number): Machine {
    const { clock } = this;
    const delays = [0, 0, 0, 5, 700, 3_000, 5_000, Number.POSITIVE_INFINITY];
    const delayMs = () => delays[this.#random.below(delays.length)] ?? 0;
    const driver = new LateMessagesDriver(memoryDriver(this.server), clock, delayMs);
    return {
      driver,
      client: new Holdfast(driver, { clock: skewedClock(clock, aheadMs), watchdogMs: WATCHDOG_MS }),
    };
  }

  /** One more task comes. Resolves when it stands in the queue, or has entered. */
  async come(): Promise<void> {
    const machine = this.alive[this.#random.below(this.alive.length)];
    if (machine === undefined) return;
    const task: Task = { machine, leaving: new AbortController(), fate: "waits" };
    this.tasks.push(task);
    const waitMs = [HOUR_MS, HOUR_MS, HOUR_MS, 2_000][this.#random.below(4)] ?? HOUR_MS;
    const leaseMs = [undefined, undefined, undefined, 2_500][this.#random.below(4)];
    const options = { waitMs, signal: task.leaving.signal, ...(leaseMs === undefined ? {} : { leaseMs }) };
    machine.client
      .getFairLock("a")
      .tryLock(options)
      .then(
        (lease) => {
          task.fate = lease === null ? "gave up" : "inside";
          if (lease === null) return;
          task.lease = lease;
          this.entered.push(task);
        },
        () => {
          task.fate = "gave up";
        },
      );
    await this.clock.advance(0);
  }

  /** Those who live and have not left, though their leases may be over. */
  get inside(): readonly Task[] {
    return this.tasks.filter(({ fate, machine }) => fate === "inside" && !machine.driver.dead);
  }

  async leave(): Promise<void> {
    const inside = this.inside[0];
    if (inside === undefined) return;
    inside.fate = "left";
    // Its lease may be over by now.
    inside.lease?.unlock().catch(() => undefined);
    await this.clock.advance(0);
  }

  async cancelOne(): Promise<void> {
    const waiting = this.tasks.filter(({ fate }) => fate === "waits");
    waiting[this.#random.below(Math.max(1, waiting.length))]?.leaving.abort(new Error("left the queue"));
    await this.clock.advance(0);
  }

  killOne(): void {
    if (this.alive.length > 2) this.alive[this.#random.below(this.alive.length)]?.driver.kill();
  }

  /** Of all tasks that believe to hold the lock there is one, wherever they live and whatever their clocks say. */
  expectExclusion(): void {
    const holders = this.tasks.filter(({ lease, fate }) => fate === "inside" && lease?.state === "held");
    expect(holders.length).toBeLessThanOrEqual(1);
  }

  /** Those who entered did so by the order in which they came. */
  expectOrder(): void {
    const order = this.entered.map((task) => this.tasks.indexOf(task));
    expect(order).toEqual([...order].sort((a, b) => a - b));
  }

  /** What those who live still wait for. */
  get waiting(): readonly Task[] {
    return this.tasks.filter(({ fate, machine }) => fate === "waits" && !machine.driver.dead);
  }
}

async function play(random: SeededRandom): Promise<void> {
  const world = new World(random);
  for (let step = 0; step < 120; step++) {
    const dice = random.below(100);
    if (dice < 40) await world.come();
    else if (dice < 75) await world.leave();
    else if (dice < 85) await world.cancelOne();
    else if (dice < 87) world.killOne();
    else await world.clock.advance([1, 10, 400, 1_500, 5_000][random.below(5)] ?? 0);
    world.expectExclusion();
  }
  // Everybody who lives and waits gets in, however many died.
  for (let rounds = 0; world.waiting.length > 0; rounds++) {
    expect(rounds).toBeLessThan(2 * world.tasks.length);
    const before = world.waiting.length;
    for (let ms = 0; ms < 2 * DEAD_MS && world.waiting.length === before; ms += 100) {
      await world.leave();
      await world.clock.advance(100);
      world.expectExclusion();
    }
    expect(world.waiting.length).toBeLessThan(before);
  }
  while (world.inside.length > 0) await world.leave();
  world.expectOrder();
  await world.clock.advance(DEAD_MS);
  // The entries of the dead are gone as soon as somebody comes by.
  await world.alive[0]?.client.getFairLock("a").using(() => undefined);
  await world.clock.advance(0);
  expect(texts(world.server.command("LRANGE", QUEUE, 0, -1))).toEqual([]);
  expect(Object.keys(world.server.dump())).toEqual([]);
  const closed = Promise.all(world.machines.map(({ client }) => client.close()));
  await world.clock.advance(120_000);
  await closed;
  expect(world.clock.pendingTimers).toBe(0);
}

describe("a fair lock whose waiters come, give up and die at random", () => {
  test("has one holder at a time, lets all in that live, in their order, and leaves nothing behind, with clocks hours apart [B9] [wire-S8] [R4] [R23]", {
    timeout: 60_000,
  }, async () => {
    const random = seededRandom();
    for (let game = 0; game < 30; game++) await play(random);
  });
});
