import { expect, test } from "vitest";
import { FakeClock, MemoryServer, memoryDriver } from "../../src/driver/memory/index.js";
import { UnavailableError } from "../../src/errors.js";
import { Holdfast } from "../../src/holdfast.js";
import type { Semaphore } from "../../src/index.js";
import { watchLeaks } from "../support/leaks.js";
import { isRequestKey } from "../support/request-keys.js";
import { seededRandom } from "../support/seeded-random.js";
import { ShakyDriver } from "../support/shaky-driver.js";
import { watched } from "../support/watched.js";

watchLeaks();

const random = seededRandom();
const RUNS = Number(process.env["HOLDFAST_PERMIT_RUNS"] ?? 10);
const PERMITS = 3;
const CLIENTS = 3;
const SECOND_MS = 1_000;
/** By then the last one has been in, or has given up, and all that was lost is back. */
const LONGEST_S = 600;

/** What all tasks together have. */
class House {
  readonly clock = new FakeClock();
  readonly server = new MemoryServer({ clock: this.clock });
  readonly drivers = Array.from(
    { length: CLIENTS },
    () => new ShakyDriver(memoryDriver(this.server), this.clock, random),
  );
  readonly clients = this.drivers.map((driver) => new Holdfast(driver, { clock: this.clock }));
  inside = 0;

  pass(ms: number): Promise<void> {
    return new Promise((resolve) => void this.clock.schedule(ms, resolve));
  }

  get available(): unknown {
    return this.server.command("GET", "s");
  }
}

/** One task comes, asks in some way, stays if it gets what it wants, and goes. */
async function visit(house: House, semaphore: Semaphore): Promise<void> {
  await house.pass(random.below(20 * SECOND_MS));
  const permits = 1 + random.below(PERMITS);
  const leaving = new AbortController();
  const options = [
    {},
    { waitMs: random.below(5 * SECOND_MS) },
    { waitMs: 0 },
    { waitMs: 60 * SECOND_MS, signal: leaving.signal },
  ][random.below(4)];
  house.clock.schedule(random.below(10 * SECOND_MS), () => leaving.abort("gone"));
  try {
    if (!(await semaphore.tryAcquire(permits, { waitMs: LONGEST_S * SECOND_MS, ...options }))) return;
  } catch (error) {
    if (error === "gone" || error instanceof UnavailableError) return;
    throw error;
  }
  house.inside += permits;
  expect(house.inside).toBeLessThanOrEqual(PERMITS);
  await house.pass(random.below(4 * SECOND_MS));
  house.inside -= permits;
  await semaphore.release(permits).catch((error: unknown) => {
    // It goes on behind the scenes.
    if (!(error instanceof UnavailableError)) throw error;
  });
}

async function play(): Promise<void> {
  const house = new House();
  house.server.command("SET", "s", PERMITS);
  const visits = Array.from({ length: 24 }, (_, i) => {
    const client = house.clients[i % CLIENTS];
    if (client === undefined) throw new Error("no such client");
    return visit(house, client.getSemaphore("s"));
  });
  const seen = watched(Promise.all(visits));
  for (let second = 0; seen.outcome === undefined; second += 1) {
    expect(second).toBeLessThan(LONGEST_S);
    if (second === 120) for (const driver of house.drivers) driver.steady = true;
    await house.clock.advance(SECOND_MS);
    expect(Number(house.available) + house.inside).toBeLessThanOrEqual(PERMITS);
  }
  expect(seen.outcome).toHaveProperty("value");
  for (const driver of house.drivers) driver.steady = true;
  await house.clock.advance(60 * SECOND_MS);
  expect([house.inside, house.available]).toEqual([0, String(PERMITS)]);
  expect(Object.keys(house.server.dump()).filter((key) => !isRequestKey(key))).toEqual(["s"]);
  const closed = Promise.all(house.clients.map((client) => client.close()));
  await house.clock.advance(10 * SECOND_MS);
  await closed;
  expect(house.clock.pendingTimers).toBe(0);
}

test("whoever waits, gives up or is cut off at random: permits are never more than there are, and all are there at the end [R9] [wire-S25]", {
  timeout: 60_000 + RUNS * 1_000,
}, async () => {
  for (let run = 0; run < RUNS; run += 1) await play();
});
