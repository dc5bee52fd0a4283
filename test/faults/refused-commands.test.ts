import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { scenarios } from "../support/refusals/refusals.js";
import { problemsOf, RefusalWorld, scriptNames } from "../support/refusals/world.js";

let world: RefusalWorld;

beforeAll(async () => {
  world = await RefusalWorld.start();
});
afterAll(() => world?.server.stop());

/** The others are refused in the same way by `refused-commands-all.test.ts`. */
describe("a user who may not run one of the commands of a script", () => {
  test.each(scriptNames)(
    "leaves nothing without an end, and moves no count twice: %s [own-85]",
    async (name) => {
      const [scenario] = scenarios[name];
      if (scenario === undefined) throw new Error("a script without a scenario");
      const control = await world.refusals.control(scenario);
      const cells = await world.cells(name, scenario, control);
      expect(cells.flatMap(problemsOf)).toEqual([]);
    },
  );
});
