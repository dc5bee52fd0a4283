import type { CloseOptions } from "../../../src/close-options.js";
import { LeaseLostError } from "../../../src/errors.js";
import { believedMs } from "../../../src/lease.js";
import { TAKEN } from "../checker/losses.js";
import { oneIn, pick } from "../draw.js";
import type { Caller } from "./caller.js";
import type { Member } from "./member.js";

const STANDSTILLS = ["stop", "suspend", "stall"];
/** Timers may be late, and the clock of a process is not quite that of the run. */
const LATE_MS = 60;
/** Calls that wait for nothing but their lock: no body of theirs runs, and they give back no part of it. */
const ONLY_WAITS = /: (?:lock|tryLock) (?:as \d+ )?(?!as |multi|red )/;

/** When a client is closed: at once, when an answer has come, or when a task has called; and so many microtasks later. */
interface Moment {
  readonly after: "nothing" | "answer" | "call";
  readonly nth: number;
  readonly microtasks: number;
}

/** A step of a task that is about the client itself. */
export async function clientStep(caller: Caller): Promise<void> {
  const { stream } = caller;
  const options: CloseOptions = { graceMs: pick(stream, [0, 0, 50, 1_000]), releaseHeld: oneIn(stream, 2) };
  const moment: Moment = {
    after: pick(stream, ["nothing", "answer", "answer", "call", "call"]),
    nth: 1 + stream.choose(4),
    microtasks: stream.choose(16),
  };
  if (moment.after === "nothing") await closeClient(caller, options);
  else closeAt(caller, moment, options);
}

/** The client is closed by something that happens while others wait, or are answered. */
function closeAt(caller: Caller, moment: Moment, options: CloseOptions): void {
  const { member } = caller;
  let left = moment.nth;
  const seen = () => {
    left -= 1;
    if (left !== 0) return;
    stop();
    afterMicrotasks(moment.microtasks, () => void closeClient(caller, options));
  };
  const answers = member.lines.map(({ commands }) => commands.whenAnswered);
  const listeners = moment.after === "answer" ? answers : [member.whenCalled];
  for (const each of listeners) each.add(seen);
  const stop = () => {
    for (const each of listeners) each.delete(seen);
  };
  caller.say(
    `will close its client after ${moment.nth} ${moment.after}s and ${moment.microtasks} microtasks`,
  );
}

export function afterMicrotasks(count: number, act: () => void): void {
  if (count === 0) act();
  else queueMicrotask(() => afterMicrotasks(count - 1, act));
}

/** Closes the client, and looks whether all that was its comes to an end. */
async function closeClient(caller: Caller, options: CloseOptions): Promise<void> {
  const { member, scene } = caller;
  const { checker, trouble } = scene;
  const { process, clients, plan } = member;
  const { graceMs = 0 } = options;
  const startUs = scene.nowUs();
  const startMs = process.instant.monotonicMs;
  const isFirst = !member.isClosing;
  member.isClosing = true;
  caller.say(`closes its client, ${JSON.stringify(options)}`);
  const stoodStill = () => trouble.has(process.name, startUs - LATE_MS * 1_000, STANDSTILLS);
  const isTimeSet = () => trouble.has(process.name, startUs, ["clock step"]);
  const leases = believedOf(member, caller).map(({ lease, label }) => ({ lease, label }));
  const waiting = [...checker.calls.pending].filter(
    ({ process: name, what }) => name === process.name && ONLY_WAITS.test(what),
  );
  const isTwice = oneIn(caller.stream, 3);
  const closing = clients.map((client) => client.close(options));
  if (isTwice) for (const client of clients) void client.close({ graceMs: 5_000 });
  if (isFirst && graceMs === 0) {
    await caller.pause(0);
    for (const { label } of believedOf(member, caller)) {
      checker.fail("truth", `${label} is believed although its client was closed`);
    }
    // What a clock has ended in that very moment was lost by that.
    if (!stoodStill() && !isTimeSet()) {
      for (const { lease, label } of leases) tellsClosed(lease, label, caller);
    }
    for (const call of waiting) {
      if (checker.calls.pending.has(call)) {
        checker.fail("progress", `${call.what} is still under way although its client was closed`);
      }
    }
  }
  await Promise.all(closing);
  const tookMs = process.instant.monotonicMs - startMs;
  const mostMs = (isFirst ? graceMs : 1_000) + 3 * plan.options.commandTimeoutMs + LATE_MS;
  caller.say(`has closed its client after ${tookMs} ms`);
  const { pendingTimers } = process;
  if (isFirst && pendingTimers > 0)
    checker.fail("leftovers", `${pendingTimers} timers of ${process.name} are left as its client has closed`);
  if (tookMs > mostMs && !stoodStill()) {
    checker.fail("progress", `${process.name} was closed after ${tookMs} ms, ${mostMs} ms at most`);
  }
  for (const { label } of believedOf(member, caller)) {
    checker.fail("truth", `${label} is believed after its client was closed`);
  }
  await Promise.all(clients.map((client) => client.close()));
}

function believedOf({ process }: Member, { scene }: Caller) {
  return scene.checker.believed.filter((belief) => belief.process === process && belief.isKept !== true);
}

/** Its signal tells why it was lost: that its client was closed, unless it was known in the same turn that somebody had taken it before. */
function tellsClosed(lease: object, label: string, { scene }: Caller): void {
  if (!("signal" in lease) || believedMs(lease) > 0) return;
  const { signal } = lease as { readonly signal: AbortSignal };
  // It may have been given back in the same turn.
  if (!signal.aborted) return;
  const loss = signal.reason as LeaseLostError;
  // Locks that were taken together are lost with one of them.
  const { reason, lockName, holder } = loss.cause instanceof LeaseLostError ? loss.cause : loss;
  if (reason === "closed") return;
  if (reason === "stolen" && scene.holders.hasGone(lockName, holder, 0, TAKEN)) return;
  scene.checker.fail("truth", `${label} was lost by "${reason}" when its client was closed`);
}
