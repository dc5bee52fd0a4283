import { defineScript, type Script } from "./define-script.js";
import { list, text, unexpected } from "./replies.js";
import type { RawReply } from "./script-call.js";
import * as scripts from "./scripts.js";

/** Part of every call that changes a value without an owner, so that a repeated call takes effect only once; see request.lua. */
export interface RepeatableRequest {
  /** The client's hash of answers. */
  readonly requests: string;
  readonly id: string;
  /** On the server's clock, in milliseconds since the Unix epoch. After this time the call changes nothing. */
  readonly notAfterMs: number;
  /** How long the answer is kept. */
  readonly memoryMs: number;
  /** The ids of requests that have ended: the server may delete their answers. */
  readonly settled: readonly string[];
}

export function requestArgs({ notAfterMs, id, memoryMs, settled }: RepeatableRequest): (string | number)[] {
  return [notAfterMs, id, memoryMs, settled.join(",")];
}

/** The decision of a script about permits, or about the count of a latch. */
export interface Decision {
  readonly status: string;
  /**
   * For a semaphore: 0 if no client is known to wait for permits. With a queue: the standing of the client's calls in it; see
   * permit-question.lua.
   */
  readonly waiting?: number;
}

/** The answer of a script with a {@link Decision}: the decision, or the reason why there is none. */
export type CountAnswer<Decided extends Decision> =
  | Decided
  | { readonly why: "late" }
  | { readonly why: "wrong-type"; readonly type: string };

/** For each status, the names of the numbers that follow it, in order. */
type NumbersOf<Decided extends Decision> = {
  readonly [Status in Decided["status"]]: readonly NumberOf<Decided, Status>[];
};

type NumberOf<Decided extends Decision, Status> = Decided extends Decision
  ? Status extends Decided["status"]
    ? Exclude<keyof Decided, keyof Decision>
    : never
  : never;

/** Numbers without a name are dropped. If a number follows the decision, it shows whether clients wait. */
export function countAnswer<Decided extends Decision>(numbers: NumbersOf<Decided>) {
  const known = new Map<unknown, readonly PropertyKey[]>(Object.entries(numbers));
  return ([answer, waiting]: readonly RawReply[]): CountAnswer<Decided> => {
    const [status, ...rest] = list(answer);
    if (status === "late") return { why: status };
    if (status === "wrong-type") return { why: status, type: text(rest[0]) };
    const names = known.get(status);
    if (names === undefined) throw unexpected(`one of ${Object.keys(numbers).join(", ")}`, answer);
    const named = Object.fromEntries(names.map((name, at) => [name, wholeNumber(rest[at] ?? null)]));
    // The compiler cannot see that `named` has the numbers that belong to `status`.
    return {
      status,
      ...named,
      ...(typeof waiting === "number" && { waiting }),
    } as unknown as CountAnswer<Decided>;
  };
}

/** Redis answers stored numbers as text. */
function wholeNumber(raw: RawReply): number {
  const number = typeof raw === "string" ? Number(raw) : raw;
  if (!Number.isInteger(number)) throw unexpected("a whole number", raw);
  return number as number;
}

interface CountValue {
  readonly status: "count";
  /** The count; 0 if there is no semaphore or latch. */
  readonly value: number;
}

/** Reads the count; see count-look.lua. */
export const countLook: Script<{ readonly count: string }, CountAnswer<CountValue>> = defineScript({
  source: scripts.countLook,
  keys: ({ count }) => [count],
  args: () => [],
  reply: countAnswer({ count: ["value"] }),
});

interface CountDown {
  readonly count: string;
  readonly request: RepeatableRequest;
  readonly channel: string;
}

/** Counts a latch down; see latch-count-down.lua. */
export const latchCountDown: Script<CountDown, CountAnswer<{ readonly status: "counted" }>> = defineScript({
  source: scripts.latchCountDown,
  replicated: "if possible",
  keys: ({ count, request }) => [count, request.requests],
  args: ({ request, channel }) => [...requestArgs(request), channel],
  reply: countAnswer({ counted: [] }),
});
