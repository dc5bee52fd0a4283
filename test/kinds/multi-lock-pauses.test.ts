import { afterEach, expect, test } from "vitest";
import { environment, replaceEnvironment } from "../../src/environment.js";
import { Holdfast } from "../../src/holdfast.js";
import { FakeClock, MemoryServer, memoryDriver } from "../../src/memory/index.js";
import { DistantDriver } from "../support/drivers/distant-driver.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { fakeTime } from "../support/worlds/fake-time.js";
import { arrived } from "../support/worlds/hand-off-scene.js";

watchLeaks();
const open = fakeTime();
/** Pauses of different lengths. */
const DRAWS = [0.1, 0.7, 0.4, 0.9, 0.2, 0.6, 0.3, 0.8, 0.5];
let putBack = (): void => undefined;
afterEach(() => putBack());

test("who keeps getting in somebody's way pauses for up to twice as long each time, and for 640 ms at most [own-28]", async () => {
  putBack = replaceEnvironment({ ...environment, random: () => 0.5 });
  const time = open();
  const { holdfast, clock, driver } = time;
  // Each by a client of its own: one that has just freed a lock leaves it to others.
  const take = (name: string) => arrived(time, watched(time.connect().holdfast.getLock(name).lock()));
  let held = await take("b");
  const waiting = watched(holdfast.getMultiLock(holdfast.getLock("a"), holdfast.getLock("b")).lock());
  await clock.advance(0);
  const pauses: number[] = [];
  for (let round = 0; round < 7; round += 1) {
    // The one that was missing is there now, and the other one is not.
    const next = await take(round % 2 === 0 ? "a" : "b");
    await arrived(time, watched(held.unlock()));
    held = next;
    driver.sent.length = 0;
    let ms = 0;
    while (driver.sent.length === 0 && ms < 2_000) {
      await clock.advance(1);
      ms += 1;
    }
    pauses.push(ms);
    await clock.advance(0);
  }
  expect(pauses).toEqual([10, 20, 40, 80, 160, 320, 320]);
  await arrived(time, watched(held.unlock()));
  await clock.advance(1_000);
  const lease = await arrived(time, waiting);
  await arrived(time, watched(lease.unlock()));
});

test("calls of one client far from the server that wake each other while they try pause all the same [own-44]", async () => {
  let drawn = 0;
  putBack = replaceEnvironment({ ...environment, random: () => DRAWS[drawn++ % DRAWS.length] ?? 0 });
  const clock = new FakeClock();
  const server = new MemoryServer({ clock });
  const near = new Holdfast(memoryDriver(server), { clock });
  const far = new Holdfast(new DistantDriver(memoryDriver(server), clock, 15), { clock });
  const held = await near.getLock("b").lock();
  let entered = 0;
  const visit = async (threadId: number) => {
    const lease = await far.getMultiLock(far.getLock("a"), far.getLock("b")).lock({ threadId });
    entered += 1;
    await lease.unlock();
  };
  const visits = [2, 3, 4].map(visit);
  await clock.advance(200);
  await held.unlock();
  await clock.advance(8_000);
  expect(entered).toBe(3);
  await Promise.all(visits);
});
