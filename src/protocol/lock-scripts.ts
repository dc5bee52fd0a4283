import { defineScript, type Script } from "./define-script.js";
import {
  type AcquireAnswer,
  type AcquireCall,
  acquireAnswer,
  type Confirmation,
  HELD,
  type ReleaseAnswer,
  type ReleaseCall,
  type RenewAnswer,
  type Renewal,
  releaseAnswer,
  renewAnswer,
  type Succession,
  type SuccessionAnswer,
  successionAnswer,
  wayOf,
} from "./lock-calls.js";
import { fencingTokenKey, keptField, readHoldKey, waitingKey } from "./names.js";
import { textOrNull } from "./replies.js";
import * as scripts from "./scripts.js";

/** Takes or re-enters locks; see lock-acquire.lua. The locks of one call share one lease and one hold count, and fenced locks come last. */
export const lockAcquire: Script<AcquireCall, readonly AcquireAnswer[]> = defineScript({
  source: scripts.lockAcquire,
  replicated: true,
  keys({ locks }) {
    const [keys, tokens]: [string[], string[]] = [[], []];
    for (const { key, fenced } of locks) {
      keys.push(key);
      if (fenced) tokens.push(fencingTokenKey(key));
    }
    keys.push(...tokens);
    const [first] = locks;
    if (first?.queued !== undefined) keys.push(waitingKey(first.key));
    return keys;
  },
  args({ notAfterMs, together = false, locks }) {
    const [{ leaseMs, heldCount, queued, channel } = NOTHING] = locks;
    if ((together || queued !== undefined) && heldCount > 0) throw unlike();
    if (queued !== undefined && (together || locks.length > 1)) throw unlike();
    const count = queued === undefined ? heldCount : "queued";
    const args: (string | number)[] = [notAfterMs, leaseMs, together ? "together" : count];
    let fenced = false;
    for (const lock of locks) {
      if (lock.leaseMs !== leaseMs || lock.heldCount !== heldCount || (fenced && !lock.fenced))
        throw unlike();
      ({ fenced } = lock);
      args.push(lock.holder);
    }
    if (queued !== undefined) args.push(queued.polls ? "polls" : queued.waitsOn ? 1 : 0, channel);
    return args;
  },
  reply: (answers) => answers.map(acquireAnswer),
  usual: (serverMs, keys) => ({ serverMs, reply: new Array<AcquireAnswer>(keys).fill(HELD) }),
});

/** Lowers hold counts and frees locks; see lock-release.lua. Only a call that keeps no holds may have several locks. */
export const lockRelease: Script<ReleaseCall, readonly ReleaseAnswer[]> = defineScript({
  source: scripts.lockRelease,
  replicated: "if possible",
  keys({ locks }) {
    const keys: string[] = [];
    for (const { key } of locks) keys.push(key);
    for (const { key, looks } of locks) if (looks !== undefined) keys.push(waitingKey(key));
    return keys;
  },
  args({ notAfterMs, locks }) {
    const args: (string | number)[] = [notAfterMs];
    for (const { holder, channel, heldCount, keptCount, ttlMs } of locks) {
      args.push(holder, channel);
      if (keptCount === 0) continue;
      if (locks.length > 1) throw unlike();
      args.push(heldCount, keptCount, ttlMs);
    }
    const looks = locks[0]?.looks !== undefined;
    for (const lock of locks) {
      if ((lock.looks !== undefined) !== looks) throw unlike();
      if (lock.looks !== undefined) args.push(wayOf(lock.looks));
    }
    return args;
  },
  reply: (answers) => answers.map(releaseAnswer),
  usual: (heard, keys) => ({ serverMs: 0, reply: new Array<ReleaseAnswer>(keys).fill(releaseAnswer(heard)) }),
});

/** Ends holds without freeing their locks, whose keys stay for a while; see lock-keep.lua. */
export const lockKeep: Script<ReleaseCall, readonly ReleaseAnswer[]> = defineScript({
  source: scripts.lockKeep,
  replicated: "if possible",
  keys: ({ locks }) => locks.map(({ key }) => key),
  args({ notAfterMs, locks }) {
    const args: (string | number)[] = [notAfterMs];
    for (const { holder, keepForMs = 0, channel } of locks) {
      args.push(holder, keptField(holder), keepForMs, channel);
    }
    return args;
  },
  reply: (answers) => answers.map(releaseAnswer),
});

/** Replaces one holder by another of the same client; see lock-succeed.lua. */
export const lockSucceed: Script<Succession, SuccessionAnswer> = defineScript({
  source: scripts.lockSucceed,
  replicated: true,
  keys: ({ key }) => [key],
  args: ({ notAfterMs, leaseMs, successor, predecessors }) => [
    notAfterMs,
    leaseMs,
    successor,
    ...predecessors,
  ],
  reply: ([answer]) => successionAnswer(answer),
  usual: (serverMs) => ({ serverMs, reply: HELD }),
});

const NOTHING = { leaseMs: 0, heldCount: 0, queued: undefined, channel: "" } as const;

function unlike(): Error {
  return new TypeError("these locks can not be asked for in one command");
}

/** Prolongs held locks; see lock-renew.lua. */
export const lockRenew: Script<readonly Renewal[], readonly RenewAnswer[]> = defineScript({
  source: scripts.lockRenew,
  replicated: true,
  keys: (locks) => locks.map(({ key }) => key),
  args(locks) {
    const args: (string | number)[] = locks.map(({ holder }) => holder);
    const last = locks.at(-1)?.leaseMs;
    const different = locks.findLastIndex(({ leaseMs }) => leaseMs !== last) + 1;
    for (const { leaseMs } of locks.slice(0, different + 1)) args.push(leaseMs);
    return args;
  },
  reply: (answers) => answers.map(renewAnswer),
});

/** Asks whether locks are still held. Also writes, so that replicas can acknowledge; see lock-confirm.lua. */
export const lockConfirm: Script<readonly Confirmation[], readonly RenewAnswer[]> = defineScript({
  source: scripts.lockConfirm,
  replicated: true,
  keys: (locks) =>
    locks.flatMap(({ key, holders: [holder = ""], slots }) => [
      key,
      ...slots.map((slot) => readHoldKey(key, holder, slot)),
    ]),
  args: (locks) => locks.flatMap(({ holders, slots }) => [slots.length, holders.length, ...holders]),
  reply: (answers) => answers.map(renewAnswer),
});

/** The properties of a server. */
export interface ServerProbe {
  /** null if the server does not tell. */
  readonly version: string | null;
  /** Whether the server has sharded messages. */
  readonly sharded: boolean;
  /** The setting `maxmemory-policy`; null if the server does not tell. */
  readonly policy: string | null;
  /** The server's role, `master` or `slave`; null if the server does not tell. */
  readonly role: string | null;
  /** The setting `maxmemory` in bytes, as digits; "0": no limit; null if the server does not tell. */
  readonly memory: string | null;
}

/** Asks a server for its clock, its version, its messages, its memory and its role; see server-probe.lua. */
export const serverProbe: Script<{ readonly key: string | undefined }, ServerProbe> = defineScript({
  source: scripts.serverProbe,
  keys: ({ key }) => (key === undefined ? [] : [key]),
  args: () => [],
  reply: ([version, sharded, policy, role, memory]) => ({
    version: textOrNull(version),
    sharded: sharded === 1,
    policy: textOrNull(policy),
    role: textOrNull(role),
    memory: textOrNull(memory),
  }),
});
