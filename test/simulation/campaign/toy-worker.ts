/** A worker whose schedules do what its test needs: by the last two digits of what the first stream draws. */
import type { Outcome, Rule } from "../outcome.js";
import type { ScheduleOptions } from "../schedule.js";
import { real } from "../world/trap.js";
import { serve } from "./serve.js";

const DIES = 3;
const HANGS = 4;
const THROWS = 5;
const BREAKS = 6;
/** Breaks a promise when it is drawn, and dies when it is shrunk to less. */
const RESISTS = 500;
const MISBEHAVIOURS = 1_000;

/** In one of so many schedules each of the above happens, if the environment asks for it. */
const asked = (process.env["HOLDFAST_TOY"] ?? "").split(",").map(Number);

serve(async ({ chooser }: ScheduleOptions): Promise<Outcome> => {
  const what = chooser.stream("toy").choose(MISBEHAVIOURS);
  const padding = Array.from({ length: 20 }, () => chooser.stream("padding").choose(10));
  await new Promise((resolve) => real.setImmediate(resolve));
  const does = (behaviour: number) => what === behaviour && asked.includes(behaviour);
  const isLess = asked.includes(RESISTS) && what === 0 && padding.every((draw) => draw === 0);
  if (does(DIES) || isLess) process.exit(7);
  if (does(HANGS)) await new Promise(() => undefined);
  if (does(THROWS)) throw new Error(`toy trouble with ${padding[0]}`);
  const rule: Rule = "exclusion";
  const violations =
    does(BREAKS) || does(RESISTS) ? [{ rule, text: `toy: p${padding[0]} and p${padding[1]}`, atUs: 5 }] : [];
  return {
    violations,
    digest: "",
    history: [],
    stats: {
      commands: 40 + (what % 3),
      kinds: ["lock"],
      faults: { cut: what % 2 },
      states: [String(what)],
      longestWaitMs: what,
      exceptions: {},
    },
  };
});
