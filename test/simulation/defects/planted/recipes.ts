import type { Defect } from "../defect.js";

const CLAIM = `if (fire !== undefined && !(await beginFire(holdfast, fire))) return { ran: false, because: "done" };`;
const RUNS = `return { ran: true, value: await body(lease) };`;
const kinds = ["lock", "non-reentrant"];
const topologies = ["standalone"] as const;

/** Jobs that are run once in a fleet. */
export const recipeDefects: readonly Defect[] = [
  {
    name: "fire-by-the-lock-alone",
    promise: "runOnce runs each fire once.",
    shows: "A call comes to a fire after another has run it.",
    kinds,
    topologies,
    edits: [
      {
        file: "src/recipes/run-once.ts",
        find: CLAIM,
        replace: "if (fire !== undefined) await beginFire(holdfast, fire);",
      },
    ],
  },
  {
    name: "fire-begun-after-its-run",
    promise: "A fire whose run was ended by a crash is not run again.",
    shows: "A fire is marked when its run has ended, which is later than another call asks.",
    kinds,
    topologies,
    edits: [
      { file: "src/recipes/run-once.ts", find: CLAIM, replace: "" },
      {
        file: "src/recipes/run-once.ts",
        find: RUNS,
        replace: `const value = await body(lease);\n      ${CLAIM}\n      return { ran: true, value };`,
      },
    ],
  },
  {
    name: "unanswered-fire-is-begun",
    promise: "A client runs a fire only after Redis has given it the fire.",
    shows: "The answer to the call that marks it is lost, and another call has marked it before.",
    kinds,
    topologies,
    edits: [
      {
        file: "src/recipes/run-once.ts",
        find: "!(await beginFire(holdfast, fire))",
        replace: "!(await beginFire(holdfast, fire).catch(() => true))",
      },
    ],
  },
  {
    name: "fire-forgotten-at-once",
    promise: "Redis remembers that a fire was begun.",
    shows: "A call comes to a fire a second after it was run.",
    kinds,
    topologies,
    edits: [
      {
        file: "src/recipes/fires.ts",
        find: "trySetPermits(1, { ttlMs: rememberMs })",
        replace: "trySetPermits(1, { ttlMs: 1_000 })",
      },
    ],
  },
  {
    name: "fires-share-a-mark",
    promise: "Each fire is run, unless Redis gave the fire to a call and the answer was lost.",
    shows: "A second fire of a job is due.",
    kinds,
    topologies,
    edits: [
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is code.
      { file: "src/recipes/fires.ts", find: "`:${atMs / 1_000}`", replace: '""' },
    ],
  },
  {
    name: "busy-fire-is-done",
    promise: "A call that finds the lock taken does not say that its fire was run.",
    shows: "Another fire of the job runs, and no later call comes to this one.",
    kinds,
    topologies,
    edits: [
      {
        file: "src/recipes/run-once.ts",
        find: 'tried.ran ? tried.value : { ran: false, because: "busy" }',
        replace: 'tried.ran ? tried.value : { ran: false, because: "done" }',
      },
    ],
  },
];
