import type fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { lockChannel } from "../../src/protocol/names.js";
import { type ScriptName, sources } from "../support/all-scripts.js";
import {
  ANY,
  LOCK_ANSWERS,
  PRESENCE_ANSWERS,
  SYNCHRONIZER_ANSWERS,
} from "../support/models/known-answers.js";
import { presenceHistories } from "../support/models/presence-histories.js";
import { synchronizerHistories } from "../support/models/synchronizer-histories.js";
import type { Step } from "../support/servers/command-histories.js";
import { runHistories } from "../support/servers/history-player.js";
import { isReference } from "../support/servers/redis-program.js";
import { lockHistories, type Names } from "../support/servers/server-histories.js";
import { LISTENED, ServerPair } from "../support/servers/server-pair.js";
import { type SortOfNames, sortsOfNames } from "../support/worlds/hostile-names.js";

const SORT_MS = 120_000;

const MOST_ROUNDS = 20;
/** The names are what is tried here: `differential.test.ts` draws other histories each time. These meet each script soon. */
const SEED = 13;

/** Long names make steps take longer. */
const LONG_BYTES = 1_000;

/** Scripts that are played with no name, and why. */
const NOT_PLAYED: Partial<Record<ScriptName, string>> = {
  "find-channels": "is given no name, and answers in the order of the server's own tables",
  "find-hashes": "is given no name, and answers the run id and the cursor of its server",
  "server-probe": "does nothing to its key, and answers what only its server is",
};

interface Model {
  readonly histories: (names: Names) => fc.Arbitrary<readonly Step[]>;
  /** Their first answer is that of a call that succeeds. */
  readonly answers: Readonly<Record<string, readonly string[]>>;
  readonly runs: number;
  readonly longRuns: number;
}

const MODELS: readonly Model[] = [
  { histories: lockHistories, answers: LOCK_ANSWERS, runs: 8, longRuns: 2 },
  { histories: synchronizerHistories, answers: SYNCHRONIZER_ANSWERS, runs: 8, longRuns: 2 },
  { histories: presenceHistories, answers: PRESENCE_ANSWERS, runs: 4, longRuns: 1 },
];

function namesOf({ names }: SortOfNames): Names {
  return { objects: names, channels: [LISTENED[0], ...names.slice(0, 2).map(lockChannel)] };
}

let pair: ServerPair;

beforeAll(async () => {
  pair = await ServerPair.start([...new Set(sortsOfNames.flatMap((sort) => namesOf(sort).channels))]);
});
beforeEach(() => pair.flush());
afterAll(() => pair?.stop());

describe.each(sortsOfNames)("with names that have $title", (sort) => {
  test("every script does on the embedded server what it does on redis-server", {
    timeout: SORT_MS,
  }, async ({ skip }) => {
    skip(!isReference(), "with these names the embedded server is compared only with Redis 7.0");
    const isLong = sort.names[0].length > LONG_BYTES;
    const played = new Set<string>();
    for (const { histories, answers, runs, longRuns } of MODELS) {
      const wanted = Object.fromEntries(
        Object.entries(answers).map(([name, [first = ANY]]) => [name, [isLong ? ANY : first]]),
      );
      const parameters = {
        seed: SEED,
        numRuns: isLong ? longRuns : runs,
        mostRounds: MOST_ROUNDS,
        unbiased: true,
      };
      await runHistories(pair, histories(namesOf(sort)), parameters, wanted, ({ script, keys }) => {
        if (keys.some((key) => sort.names.some((name) => key.includes(name)))) played.add(script.name);
      });
    }
    const all = Object.keys(sources).sort();
    expect(all.filter((name) => !played.has(name))).toEqual(Object.keys(NOT_PLAYED));
  });
});
