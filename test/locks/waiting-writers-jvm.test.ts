import { expect, test } from "vitest";
import type { NodeUser } from "../support/jvm/lock-user.js";
import { SimulatedFleet } from "../support/jvm/simulated-fleet.js";
import type { SimulatedUser } from "../support/jvm/simulated-jvm.js";

const HOUR_MS = 3_600_000;
const HELD_MS = 10;
const TURNS = 60;
const WRITE = { kind: "write", name: "order:7" } as const;

test("a JVM that wants the write lock again and again gets it beside three clients that queue for it, in each round of four", async () => {
  const fleet = new SimulatedFleet();
  const users = [fleet.node(), fleet.node(), fleet.node(), fleet.jvm()];
  const got: number[] = [];
  const pause = (ms: number) => new Promise<void>((over) => void fleet.clock.schedule(ms, over));
  const wants = async (user: NodeUser | SimulatedUser, at: number) => {
    while (got.length < TURNS) {
      await user.lock(WRITE, HOUR_MS);
      got.push(at);
      await pause(HELD_MS);
      await user.unlock(WRITE);
      // Who comes back in the same moment is faster than any message, whatever it is.
      await pause(1);
    }
  };
  const all = Promise.all(users.map(wants));
  while (got.length < TURNS) await fleet.clock.advance(HELD_MS);
  await fleet.clock.advance(users.length * HELD_MS * 10);
  await all;
  const turnsOf = users.map((_, at) => got.slice(0, TURNS).filter((each) => each === at).length);
  for (const turns of turnsOf) expect(turns).toBeGreaterThanOrEqual(TURNS / (2 * users.length));
  expect(await fleet.close()).toBe(0);
});
