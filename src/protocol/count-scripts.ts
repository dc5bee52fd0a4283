import { defineScript, type Script } from "./define-script.js";
import { list, text, unexpected } from "./replies.js";
import type { RawReply } from "./script-call.js";
import { sources } from "./scripts.js";

/** What goes with every call that changes a value which nobody owns, so that it has its effect once; see request.lua. */
export interface Request {
  /** The client's hash of answers. */
  readonly requests: string;
  readonly id: string;
  /** On the server's clock, in milliseconds since the Unix epoch: later the call changes nothing. */
  readonly notAfterMs: number;
  /** For how long the answer is kept. */
  readonly memoryMs: number;
  /** Requests whose answers are needed no more. */
  readonly settled: readonly string[];
}

export function requestArgs({ notAfterMs, id, memoryMs, settled }: Request): (string | number)[] {
  return [notAfterMs, id, memoryMs, settled.join(",")];
}

/** An answer about a number: of permits, or of what a latch is to be counted down by. */
export type CountAnswer<Status extends string> =
  | Decision<Status>
  | { readonly decided: false; readonly why: "late" }
  | { readonly decided: false; readonly why: "wrong-type"; readonly type: string };

export interface Decision<Status extends string> {
  readonly decided: true;
  readonly status: Status;
  /** What the numbers are is said where the script is. */
  readonly numbers: readonly number[];
}

export function countAnswer<Status extends string>(...known: readonly Status[]) {
  return ([answer]: readonly RawReply[]): CountAnswer<Status> => {
    const [status, ...rest] = list(answer);
    if (status === "late") return { decided: false, why: status };
    if (status === "wrong-type") return { decided: false, why: status, type: text(rest[0]) };
    const found = known.find((one) => one === status);
    if (found === undefined) throw unexpected(`one of ${known.join(", ")}`, answer);
    return { decided: true, status: found, numbers: rest.map(wholeNumber) };
  };
}

/** Numbers that were stored come as text. */
function wholeNumber(raw: RawReply): number {
  const number = typeof raw === "string" ? Number(raw) : raw;
  if (!Number.isInteger(number)) throw unexpected("a whole number", raw);
  return number as number;
}

interface TrySet {
  readonly count: string;
  readonly request: Request;
  readonly value: number;
  /** 0: it has none. */
  readonly ttlMs: number;
  readonly channel: string;
  /** "": none is sent. */
  readonly message: string;
}

/** Gives a semaphore its permits or a latch its count, unless it has one; see count-try-set.lua. */
export const countTrySet: Script<TrySet, CountAnswer<"set" | "kept">> = defineScript({
  source: sources["count-try-set"],
  replicated: true,
  keys: ({ count, request }) => [count, request.requests],
  args: ({ request, value, ttlMs, channel, message }) => [
    ...requestArgs(request),
    value,
    ttlMs,
    channel,
    message,
  ],
  reply: countAnswer("set", "kept"),
});

interface Deletion {
  readonly count: string;
  readonly request: Request;
  /** Keys that belong to it. */
  readonly others: readonly string[];
  readonly channel: string;
  /** "": none is sent. */
  readonly message: string;
}

/** Deletes a semaphore or a latch; see count-delete.lua. */
export const countDelete: Script<Deletion, CountAnswer<"deleted" | "absent">> = defineScript({
  source: sources["count-delete"],
  replicated: "if possible",
  keys: ({ count, request, others }) => [count, request.requests, ...others],
  args: ({ request, channel, message }) => [...requestArgs(request), channel, message],
  reply: countAnswer("deleted", "absent"),
});

/** Reads the number: 0 when there is none; see count-look.lua. */
export const countLook: Script<{ readonly count: string }, CountAnswer<"count">> = defineScript({
  source: sources["count-look"],
  keys: ({ count }) => [count],
  args: () => [],
  reply: countAnswer("count"),
});

interface CountDown {
  readonly count: string;
  readonly request: Request;
  readonly channel: string;
}

/** Counts a latch down; answers what is left. See latch-count-down.lua. */
export const latchCountDown: Script<CountDown, CountAnswer<"counted">> = defineScript({
  source: sources["latch-count-down"],
  replicated: "if possible",
  keys: ({ count, request }) => [count, request.requests],
  args: ({ request, channel }) => [...requestArgs(request), channel],
  reply: countAnswer("counted"),
});
