import { expect, test } from "vitest";
import { SimulatedFleet } from "../support/jvm/simulated-fleet.js";

const HOUR_MS = 3_600_000;
const HELD_MS = 10;
const TURNS = 200;
const on = (kind: "read" | "write") => ({ kind, name: "order:7" }) as const;

test("readers beside clients that queue to write get in again and again, and so do those", async () => {
  const fleet = new SimulatedFleet();
  const kinds = ["write", "write", "write", "read", "read"] as const;
  const got: number[] = kinds.map(() => 0);
  const sum = () => got.reduce((all, turns) => all + turns, 0);
  const pause = (ms: number) => new Promise<void>((over) => void fleet.clock.schedule(ms, over));
  const wants = async (kind: "read" | "write", at: number) => {
    const user = fleet.node();
    while (sum() < TURNS) {
      await user.lock(on(kind), HOUR_MS);
      got[at] = (got[at] ?? 0) + 1;
      await pause(HELD_MS);
      await user.unlock(on(kind));
      // Who comes back in the same moment is faster than any message, whatever it is.
      await pause(1);
    }
  };
  const all = Promise.all(kinds.map(wants));
  while (sum() < TURNS) await fleet.clock.advance(HELD_MS);
  await fleet.clock.advance(10 * kinds.length * HELD_MS);
  await all;
  for (const turns of got) expect(turns).toBeGreaterThanOrEqual(TURNS / (4 * kinds.length));
  expect(await fleet.close()).toBe(0);
});
