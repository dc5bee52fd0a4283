import type { RawReply, ScriptCall } from "../../../src/protocol/script-call.js";
import type { CountState } from "./count-state.js";

/** One question about a semaphore or a latch, and what was answered. */
export interface Answered {
  readonly atUs: number;
  /** When the process has asked its client for it. */
  readonly askedUs: number;
  /** The process. */
  readonly by: string;
  readonly script: string;
  /** What the client that has asked calls its request; undefined where the question changes nothing. */
  readonly request: string | undefined;
  readonly notAfterMs: number;
  /** What follows the request's own. */
  readonly args: readonly string[];
  readonly status: string;
  readonly numbers: readonly number[];
  /** Whether the request has been decided before. */
  readonly isRepeat: boolean;
  /** Whether it names the queue of the clients that wait for permits. */
  readonly looks: boolean;
  readonly before: CountState;
}

/** How many arguments of a script are about its request. */
const REQUEST_ARGS = 4;
const CANCEL_ARGS = 3;

/** What a script was asked about one key, and its answer about that. */
export type Parsed = Pick<Answered, "request" | "notAfterMs" | "args" | "status" | "numbers">;

/** Reads a question about a value that nobody owns. @param raw what was answered about this value */
export function parseAnswer({ script, keys, args }: ScriptCall, raw: RawReply): Parsed {
  const [status, ...numbers] = raw as readonly RawReply[];
  const answer = { status: String(status), numbers: numbers.map(Number) };
  const [, requests = ""] = keys;
  if (script.name.endsWith("-cancel")) {
    const request = `${requests} ${args[0]}`;
    return { ...answer, request, notAfterMs: Number.POSITIVE_INFINITY, args: args.slice(CANCEL_ARGS) };
  }
  if (/-(look|leave)$/.test(script.name) || script.name.startsWith("lock-inspect")) {
    return { ...answer, request: undefined, notAfterMs: Number.POSITIVE_INFINITY, args };
  }
  const request = `${requests} ${args[1]}`;
  return { ...answer, request, notAfterMs: Number(args[0]), args: args.slice(REQUEST_ARGS) };
}

/** All that was answered about one name. */
export class Answers {
  readonly #answers: Answered[] = [];
  /** What was answered first to each request. */
  readonly #decided = new Map<string, Answered>();

  add(answered: Answered): void {
    this.#answers.push(answered);
    const { request, status, isRepeat } = answered;
    if (request !== undefined && !isRepeat && status !== "short" && status !== "late") {
      this.#decided.set(request, answered);
    }
  }

  decided(request: string | undefined): Answered | undefined {
    return request === undefined ? undefined : this.#decided.get(request);
  }

  /** Those to a process since a moment, of which one is asked for by its script and status. */
  some(by: string, sinceUs: number, fits: (answered: Answered) => boolean): boolean {
    for (let at = this.#answers.length - 1; at >= 0; at -= 1) {
      const answered = this.#answers[at];
      if (answered === undefined || answered.atUs < sinceUs) return false;
      if (answered.by === by && fits(answered)) return true;
    }
    return false;
  }
}
