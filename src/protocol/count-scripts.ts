import { defineScript, type Script } from "./define-script.js";
import { list, text, unexpected } from "./replies.js";
import type { RawReply } from "./script-call.js";
import * as scripts from "./scripts.js";

/** What goes with every call that changes a value without an owner, so that a repeated call has its effect once; see request.lua. */
export interface RepeatableRequest {
  /** The client's hash of answers. */
  readonly requests: string;
  readonly id: string;
  /** On the server's clock, in milliseconds since the Unix epoch: later the call changes nothing. */
  readonly notAfterMs: number;
  /** For how long the answer is kept. */
  readonly memoryMs: number;
  /** The ids of requests that have ended: the server may delete their answers. */
  readonly settled: readonly string[];
}

export function requestArgs({ notAfterMs, id, memoryMs, settled }: RepeatableRequest): (string | number)[] {
  return [notAfterMs, id, memoryMs, settled.join(",")];
}

/** The decision of a script about a number of permits, or about the count of a latch. */
export interface Decision {
  readonly status: string;
  /** Of a semaphore: 0 when no client is known to wait for permits. A line of its queue that asks is told how it stands. */
  readonly waiting?: number;
}

/** The answer of such a script: the decision, or why there is none. */
export type CountAnswer<Decided extends Decision> =
  | Decided
  | { readonly why: "late" }
  | { readonly why: "wrong-type"; readonly type: string };

/** By the status of each decision, the names of the numbers that come after it, in their order. */
type NumbersOf<Decided extends Decision> = {
  readonly [Status in Decided["status"]]: readonly NumberOf<Decided, Status>[];
};

type NumberOf<Decided extends Decision, Status> = Decided extends Decision
  ? Status extends Decided["status"]
    ? Exclude<keyof Decided, keyof Decision>
    : never
  : never;

/** Numbers without a name are dropped. A number after the decision says whether clients wait. */
export function countAnswer<Decided extends Decision>(numbers: NumbersOf<Decided>) {
  const known = new Map<unknown, readonly PropertyKey[]>(Object.entries(numbers));
  return ([answer, waiting]: readonly RawReply[]): CountAnswer<Decided> => {
    const [status, ...rest] = list(answer);
    if (status === "late") return { why: status };
    if (status === "wrong-type") return { why: status, type: text(rest[0]) };
    const names = known.get(status);
    if (names === undefined) throw unexpected(`one of ${Object.keys(numbers).join(", ")}`, answer);
    const named = Object.fromEntries(names.map((name, at) => [name, wholeNumber(rest[at] ?? null)]));
    // With what the names of its status promise.
    return {
      status,
      ...named,
      ...(typeof waiting === "number" && { waiting }),
    } as unknown as CountAnswer<Decided>;
  };
}

/** Numbers that were stored come as text. */
function wholeNumber(raw: RawReply): number {
  const number = typeof raw === "string" ? Number(raw) : raw;
  if (!Number.isInteger(number)) throw unexpected("a whole number", raw);
  return number as number;
}

interface CountValue {
  readonly status: "count";
  /** 0 when there is none. */
  readonly value: number;
}

/** Reads the number; see count-look.lua. */
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
