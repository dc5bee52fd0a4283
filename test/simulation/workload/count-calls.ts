import { ClientClosedError, UnavailableError } from "../../../src/errors.js";
import type { WaitOptions } from "../../../src/options.js";
import { oneIn, pick } from "../draw.js";
import type { Became, Caller } from "./caller.js";

/** For so long somebody waits who waits for ever: permits may be lost for good with a process. */
const PATIENCE_MS = 45_000;

/** How a call has ended that nobody waits with, and when it began. */
export type Plain<T> = Became<T> & {
  readonly sinceUs: number;
  /** Whether it has failed, and may have had its effect. */
  readonly isUnknown: boolean;
};

/** A call that asks for nothing that others have. */
export async function plainCall<T>(caller: Caller, what: string, act: () => Promise<T>): Promise<Plain<T>> {
  const { member, scene } = caller;
  const sinceUs = scene.nowUs();
  const wasClosing = member.isClosing;
  const became = await caller.call({ what, names: [], waitMs: 0 }, act);
  // One that is made at a closed client is refused at once; what was under way when it was closed may have been carried out.
  const isRefused = wasClosing && scene.nowUs() === sinceUs;
  return { ...became, sinceUs, isUnknown: !became.ok && mayBeDone(became.error, isRefused) };
}

/** How long a call may wait. @param foreverIn once in so many times it says for how long */
export function waitOptions(caller: Caller, foreverIn: number): WaitOptions {
  const { stream } = caller;
  const waitMs = oneIn(stream, foreverIn) ? pick(stream, [100, 0, 10, 1_000, 5_000]) : undefined;
  const loses = oneIn(stream, 8) ? pick(stream, [1, 0, 5, 30, 200, 1_500]) : undefined;
  if (loses === undefined && waitMs !== undefined) return { waitMs };
  const signal = abortsAfter(caller, loses ?? PATIENCE_MS);
  return waitMs === undefined ? { signal } : { waitMs, signal };
}

export function wordsOf(options: object): string {
  const words = Object.entries(options).flatMap(([name, value]) =>
    typeof value === "object" ? [] : [`${name} ${value}`],
  );
  return words.join(", ");
}

/** How long somebody works with what he has. */
export function holdMs(caller: Caller): number {
  const { watchdogMs } = caller.member.plan.options;
  return pick(caller.stream, [1, 0, 5, 20, 80, 200, 1_200, watchdogMs * 1.5]);
}

/** How many permits a call wants; more than there are only now and then. */
export function wantedOf({ stream }: Caller, size: number): number {
  const wanted = pick(stream, [1, 1, 1, 2, 2, 3]);
  return oneIn(stream, 10) ? wanted : Math.min(wanted, Math.max(size, 1));
}

function mayBeDone(error: unknown, isRefused: boolean): boolean {
  if (error instanceof ClientClosedError) return !isRefused;
  return error instanceof UnavailableError && error.outcomeUnknown;
}

function abortsAfter(caller: Caller, ms: number): AbortSignal {
  const controller = new AbortController();
  const { process } = caller.member;
  process.after(ms, () => controller.abort(new Error("the caller has lost interest")));
  return controller.signal;
}

/** One that ends before its answer comes is asked for again and again. */
export function shortestLeaseMs({ member }: Caller): number {
  const { leastUs, spreadUs } = member.plan.distance;
  return 50 + Math.ceil((16 * (leastUs + spreadUs)) / 1_000);
}
