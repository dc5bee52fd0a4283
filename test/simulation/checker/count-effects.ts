import type { Answered } from "./answers.js";
import { type CountState, PERMANENT_MS, savedForOthers } from "./count-state.js";
import { leftToThoseBefore } from "./permit-turns.js";

/** What a script is to have done: the state that it leaves, or what is wrong with its answer. */
export type Effect = { readonly after: Pick<CountState, "count" | "leases"> } | { readonly wrong: string };

/** What is known of the request that was answered. */
export interface Earlier {
  /** What it was answered first. */
  readonly decided: Answered | undefined;
}

/** What each script is documented to do, said once more and otherwise than in its own words. */
export function effectOf(answered: Answered, { decided }: Earlier): Effect {
  const { status, before, notAfterMs, script } = answered;
  const nothing = { after: before };
  if (status === "late") {
    return before.nowMs > notAfterMs ? nothing : { wrong: "it was not late" };
  }
  if (before.nowMs > notAfterMs) return { wrong: "it was late, and was answered all the same" };
  if (decided !== undefined && !script.endsWith("-cancel")) return repeated(answered, decided);
  const rule = RULES[script];
  return rule === undefined ? { wrong: `nobody knows the script ${script}` } : rule(answered);
}

function repeated({ status, numbers, before }: Answered, decided: Answered): Effect {
  const isSame = status === decided.status || (decided.status === "granted" && status === "gone");
  if (!isSame) return { wrong: `it was answered ${decided.status} before` };
  if (decided.script === "permit-acquire" && decided.status === "granted") {
    const areThere = hexIds(decided.args[2]).every((id) => before.leases.has(id));
    if (areThere !== (status === "granted")) return { wrong: `it is ${areThere} that the permits are there` };
  }
  const isCount = status === "counted" || status === "drained";
  if (isCount && numbers[0] !== decided.numbers[0]) {
    return { wrong: `it was answered ${decided.numbers[0]} before` };
  }
  return { after: before };
}

/** Ids that follow each other. */
export function hexIds(hex = ""): readonly string[] {
  return hex.match(/.{32}/g) ?? [];
}

type Rule = (answered: Answered) => Effect;

const RULES: Readonly<Record<string, Rule>> = {
  "lock-inspect": ({ before }) => ({ after: before }),
  // It only reads, and answers other things.
  "lock-inspect-many": ({ before }) => ({ after: before }),
  "count-try-set": ({ status, before, args: [value] }) => {
    if (status === "kept")
      return before.count === undefined ? { wrong: "there was none" } : { after: before };
    return before.count === undefined ? counted(before, Number(value)) : { wrong: "there was one" };
  },
  "count-delete": ({ status, before }) => {
    const isThere = before.count !== undefined;
    if (isThere !== (status === "deleted")) return { wrong: isThere ? "there was one" : "there was none" };
    return { after: { count: undefined, leases: NONE } };
  },
  "count-look": ({ before, numbers }) => said(before, [before.count ?? 0], numbers),
  "semaphore-add": ({ status, before, args: [, added, mustExist] }) => {
    if (status === "absent") {
      return before.count === undefined && mustExist === "1" ? { after: before } : { wrong: "there was one" };
    }
    if (before.count === undefined && mustExist === "1") return { wrong: "there was none" };
    return counted(before, (before.count ?? 0) + Number(added));
  },
  "semaphore-drain": ({ before, numbers: [drained = 0] }) => {
    const { count = 0 } = before;
    if (drained !== Math.max(count, 0)) return { wrong: `${count} were available` };
    return before.count === undefined ? { after: before } : counted(before, count - drained);
  },
  "semaphore-acquire": (answered) => {
    const wanted = Number(answered.args[2]);
    const [, , , , line] = answered.args;
    return taken(answered, wanted, line, ({ count = 0, leases }) => ({ count: count - wanted, leases }));
  },
  "permit-acquire": (answered) => {
    const [, , hex, , leaseMs, line] = answered.args;
    const ids = hexIds(hex);
    const ends = Number(leaseMs) === 0 ? PERMANENT_MS : answered.before.nowMs + Number(leaseMs);
    return taken(answered, ids.length, line, ({ count = 0, leases }) => ({
      count: count - ids.length,
      leases: withEnds(leases, ids, () => ends),
    }));
  },
  "permit-cancel": ({ before, args: [, , hex] }) => ({ after: without(before, hexIds(hex)) }),
  "permit-release": ({ status, before, args: [, hex] }) => {
    const ids = hexIds(hex);
    if (wasAbsent(status, before, ids) === undefined) return { wrong: "not so by the leases" };
    return { after: status === "absent" ? before : without(before, ids) };
  },
  "permit-set-lease": ({ status, before, args: [, hex, leaseMs] }) => {
    const ids = hexIds(hex);
    if (wasAbsent(status, before, ids) === undefined) return { wrong: "not so by the leases" };
    const ends = () => before.nowMs + Number(leaseMs);
    return {
      after: status === "absent" ? before : { ...before, leases: withEnds(before.leases, ids, ends) },
    };
  },
  "permit-renew": ({ status, before, args: [hex, leaseMs] }) => {
    const ids = hexIds(hex);
    if (status === "refused") return { after: before };
    if (wasAbsent(status, before, ids) === undefined) return { wrong: "not so by the leases" };
    const ends = (now: number) => Math.max(now, before.nowMs + Number(leaseMs));
    return { after: status === "lost" ? before : { ...before, leases: withEnds(before.leases, ids, ends) } };
  },
  "permit-confirm": ({ before }) => ({ after: before }),
  "permit-set-total": ({ before, args: [, total] }) =>
    counted(before, Number(total) - (before.count === undefined ? 0 : before.leases.size)),
  "permit-look": ({ before, numbers, args: [, hex] }) => {
    const { count, leases, nowMs } = before;
    const ends = hex === undefined ? undefined : leases.get(hex);
    const lifeMs = ends === PERMANENT_MS ? -1 : (ends ?? nowMs - 2) - nowMs;
    return said(before, [count === undefined ? 0 : 1, count ?? 0, leases.size, lifeMs], numbers);
  },
  // It changes the queue alone.
  "permit-leave": ({ before }) => ({ after: before }),
  "latch-count-down": ({ before, numbers: [left] }) => {
    const { count = 0 } = before;
    if (left !== Math.max(count - 1, 0)) return { wrong: `the count was ${count}` };
    return { after: { ...before, count: count > 1 ? count - 1 : undefined } };
  },
};

/** What a cancelled request of a plain semaphore gives back. */
export function effectOfCancel(answered: Answered, { decided }: Earlier): Effect {
  const { before, args, script } = answered;
  if (script === "permit-cancel") return effectOf(answered, { decided });
  const wasGranted = decided?.script === "semaphore-acquire" && decided.status === "granted";
  if (!wasGranted || before.count === undefined) return { after: before };
  return counted(before, before.count + Number(args[2]));
}

const NONE: ReadonlyMap<string, number> = new Map();

function taken(
  { status, before, args: [, owner = ""] }: Answered,
  wanted: number,
  line: string | undefined,
  done: (before: CountState) => Pick<CountState, "count" | "leases">,
): Effect {
  const { count } = before;
  const leftToOthers = line === undefined ? 0 : leftToThoseBefore(before.queue, line);
  const isEnough = count !== undefined && count - savedForOthers(before, owner) - leftToOthers >= wanted;
  if (status === "short") return isEnough ? { wrong: `${count} were available` } : { after: before };
  if (status !== "granted") return { wrong: "the request is new" };
  return isEnough ? { after: done(before) } : { wrong: `only ${count} were available to it` };
}

function counted(before: CountState, count: number): Effect {
  return { after: { ...before, count } };
}

function said(before: CountState, expected: readonly number[], numbers: readonly number[]): Effect {
  const isSo = expected.every((number, at) => number === numbers[at]);
  return isSo ? { after: before } : { wrong: `it is ${expected.join(", ")}` };
}

/** @returns undefined when the leases say otherwise */
function wasAbsent(status: string, { leases }: CountState, ids: readonly string[]): boolean | undefined {
  const isAbsent = !ids.every((id) => leases.has(id));
  const saysAbsent = status === "absent" || status === "lost";
  return isAbsent === saysAbsent ? isAbsent : undefined;
}

function without(
  { count, leases }: CountState,
  ids: readonly string[],
): Pick<CountState, "count" | "leases"> {
  const left = new Map(leases);
  let gone = 0;
  for (const id of ids) gone += left.delete(id) ? 1 : 0;
  return { count: count === undefined ? undefined : count + gone, leases: left };
}

function withEnds(
  leases: ReadonlyMap<string, number>,
  ids: readonly string[],
  endOf: (endsMs: number) => number,
): ReadonlyMap<string, number> {
  const changed = new Map(leases);
  for (const id of ids) changed.set(id, endOf(leases.get(id) ?? 0));
  return changed;
}
