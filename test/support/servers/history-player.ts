import fc from "fast-check";
import { expect } from "vitest";
import type { ScriptCall } from "../../../src/protocol/script-call.js";
import { A_NUMBER, ANY } from "../models/known-answers.js";
import { brief } from "../run/brief.js";
import { type Step, textOf } from "./command-histories.js";
import type { Action, ServerPair } from "./server-pair.js";

const MOST_ROUNDS = 5;

/** The only error that a script may end with: a full server refuses only its first write, so nothing has changed. */
const FULL = "OOM ";

/** Times that differ by less may be the same: the two servers do not act at the same moment. */
const SLACK_MS = 1_500;

/** Smaller numbers are no times and have to be the same. All leases are far above. */
const SMALLEST_TIME_MS = 2_000;

/** How long nothing is saved up after a turn is as long as the turn was, on each of the servers. */
const MEASURED = "holdfast_sc_saved:";

/** Replaces what depends on the moment: times become "the same" when they are near those of `other`. */
function alike(value: unknown, other: unknown): unknown {
  if (typeof value === "number" && typeof other === "number") {
    // An answer that the Redis client rounds; what is stored is compared as text.
    if (Math.min(Math.abs(value), Math.abs(other)) > Number.MAX_SAFE_INTEGER) return other;
    if (value < SMALLEST_TIME_MS) return value;
    return Math.abs(value - other) < SLACK_MS ? other : value;
  }
  if (typeof value === "string" && typeof other === "string") return alikeText(value, other);
  if (Array.isArray(value) && Array.isArray(other)) return value.map((item, at) => alike(item, other[at]));
  if (isRecord(value) && isRecord(other)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, alikeAt(name, item, other[name])]),
    );
  }
  return value;
}

function alikeAt(name: string, item: unknown, other: unknown): unknown {
  const same = alike(item, other);
  if (!name.startsWith(MEASURED) || !isRecord(same) || !isRecord(other)) return same;
  return { ...same, ttlMs: other["ttlMs"] };
}

/** What a step has done, with short texts in place of long ones. */
interface Brief {
  readonly reply: unknown;
  readonly keyspace: Readonly<Record<string, unknown>>;
}

/** Without what is measured, and is over on the other server already: no time is left of it there, which may be the same. */
function withoutOver({ keyspace, ...effect }: Brief, other: Brief): Brief {
  const isOver = (key: string, item: unknown) =>
    key.startsWith(MEASURED) &&
    other.keyspace[key] === undefined &&
    isRecord(item) &&
    Number(item["ttlMs"]) < SLACK_MS;
  const kept = Object.entries(keyspace).filter(([key, item]) => !isOver(key, item));
  return { ...effect, keyspace: Object.fromEntries(kept) };
}

/** A text may be a time, or end with one after a colon. */
function alikeText(value: string, other: string): string {
  const [, what, ms] = /^(|.+:)(\d{13})$/.exec(value) ?? [];
  const [, otherWhat, otherMs] = /^(|.+:)(\d{13})$/.exec(other) ?? [];
  return what === otherWhat && Math.abs(Number(ms) - Number(otherMs)) < SLACK_MS ? other : value;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** Whether the answer tells, or depends on, the rest of what is measured. */
function asksMeasured(action: Action): boolean {
  const [command = "", key = ""] = "script" in action ? [] : action;
  return ["PTTL", "PERSIST"].includes(command) && key.startsWith(MEASURED);
}

/** The answer of the real server, after a step in which both did the same. */
export async function expectSame(pair: ServerPair, action: Action): Promise<unknown> {
  const effects = await pair.step(action);
  const [redis, memory] = [brief(effects.redis) as Brief, brief(effects.memory) as Brief];
  const expected = withoutOver(redis, memory);
  const seen = withoutOver(memory, redis);
  const answered = asksMeasured(action) ? { ...seen, reply: redis.reply } : seen;
  expect(alike(answered, expected), textOf(action)).toEqual(expected);
  return effects.redis.reply;
}

/** Is told of each part of the answer of a script. */
type Note = (answer: string, call: ScriptCall) => void;

export async function runHistory(pair: ServerPair, steps: readonly Step[], note: Note = () => undefined) {
  await pair.flush();
  for (const step of steps) {
    if ("full" in step) {
      await pair.full(step.full);
      continue;
    }
    const action = "decide" in step ? step.decide(pair.stored()) : step;
    const reply = await expectSame(pair, action);
    if (!("script" in action)) continue;
    const answers = typeof reply === "number" ? [A_NUMBER] : reply;
    if (!String(reply).startsWith(FULL)) expect(answers, textOf(action)).toBeInstanceOf(Array);
    for (const answer of [ANY, answers].flat(3)) note(`${action.script.name} ${answer}`, action);
  }
}

interface Parameters {
  readonly seed: number;
  /** Of one round. */
  readonly numRuns: number;
  /** Default: 5. */
  readonly mostRounds?: number;
  /** Whether the first histories are as long as others. Default: false. */
  readonly unbiased?: boolean;
}

/** Plays histories on both servers until every answer that is wanted was given, and fails where one never is. */
export async function runHistories(
  pair: ServerPair,
  history: fc.Arbitrary<readonly Step[]>,
  parameters: Parameters,
  wanted: Readonly<Record<string, readonly string[]>>,
  note: (call: ScriptCall) => void = () => undefined,
): Promise<void> {
  const { mostRounds = MOST_ROUNDS, ...given } = parameters;
  const answers = new Set<string>();
  const run = (steps: readonly Step[]) =>
    runHistory(pair, steps, (answer, call) => {
      answers.add(answer);
      note(call);
    });
  const all = Object.entries(wanted).flatMap(([name, known]) => known.map((answer) => `${name} ${answer}`));
  const missing = () => all.filter((answer) => !answers.has(answer));
  // A rare answer may take more histories than others.
  for (let more = 0; more < mostRounds && (more === 0 || missing().length > 0); more += 1) {
    await fc.assert(fc.asyncProperty(history, run), { ...given, seed: given.seed + more });
  }
  expect(missing()).toEqual([]);
}
