import { defineScript, type Script } from "./define-script.js";
import {
  type AcquireAnswer,
  type AcquireCall,
  acquireAnswer,
  type ReleaseAnswer,
  type ReleaseCall,
  type RenewAnswer,
  type Renewal,
  releaseAnswer,
  renewAnswer,
  wayOf,
} from "./lock-calls.js";
import { readHoldKey, readHoldPrefix, waitingWriterKey, writersQueueKey } from "./names.js";
import * as scripts from "./scripts.js";

/** How long a waiting writer keeps readers away without renewing its mark: a dead writer should cost only seconds. */
export const MARK_MS = 4_000;

/**
 * Takes or re-enters read locks; see read-acquire.lua.
 * @param fair whether new readers give way to a waiting writer
 */
export function readAcquire(fair: boolean): Script<AcquireCall, readonly AcquireAnswer[]> {
  return defineScript({
    source: scripts.readAcquire,
    replicated: true,
    keys: ({ locks }) =>
      locks.flatMap(({ key, holder, heldCount }) => [
        key,
        readHoldKey(key, holder, heldCount + 1),
        waitingWriterKey(key),
      ]),
    args: ({ notAfterMs, together = false, locks }) => [
      notAfterMs,
      together ? 1 : 0,
      fair ? 1 : 0,
      ...locks.flatMap(({ holder, leaseMs, heldCount, kin }) => [holder, leaseMs, heldCount, kin]),
    ],
    reply: (answers) => answers.map(acquireAnswer),
  });
}

/**
 * Takes or re-enters write locks; see write-acquire.lua.
 * @param fair whether a waiting writer keeps new readers away
 */
export function writeAcquire(fair: boolean): Script<AcquireCall, readonly AcquireAnswer[]> {
  return defineScript({
    source: scripts.writeAcquire,
    replicated: true,
    keys: ({ locks }) =>
      locks.flatMap(({ key, queued }) => [
        key,
        waitingWriterKey(key),
        ...(queued ? [writersQueueKey(key)] : []),
      ]),
    args: ({ notAfterMs, together = false, locks }) => [
      notAfterMs,
      together ? 1 : 0,
      fair ? MARK_MS : 0,
      ...locks.flatMap(({ holder, leaseMs, heldCount, waits, queued, channel }) => [
        holder,
        leaseMs,
        heldCount,
        waits ? 1 : 0,
        ...(queued ? [queued.waitsOn ? 1 : 0, channel] : []),
      ]),
    ],
    reply: (answers) => answers.map(acquireAnswer),
  });
}

/** Lowers the hold counts of readers and frees locks; see read-release.lua. */
export const readRelease: Script<ReleaseCall, readonly ReleaseAnswer[]> = defineScript({
  source: scripts.readRelease,
  replicated: "if possible",
  keys: ({ locks }) =>
    // While a slot moves, the keys of other readers may already be on the new server. One more key, which never exists, makes the cluster
    // answer TRYAGAIN until the move is over.
    locks.flatMap(({ key, holder, heldCount }) => [key, ...holdKeys(key, holder, heldCount + 1)]),
  args: ({ notAfterMs, locks }) => [
    notAfterMs,
    ...locks.flatMap(({ key, holder, heldCount, keptCount, channel, keptMs }) => [
      holder,
      heldCount,
      keptCount,
      channel,
      readHoldPrefix(key),
      ...keptMs,
    ]),
  ],
  reply: (answers) => answers.map(releaseAnswer),
});

/** Lowers the hold counts of writers and frees locks; see write-release.lua. */
export const writeRelease: Script<ReleaseCall, readonly ReleaseAnswer[]> = defineScript({
  source: scripts.writeRelease,
  replicated: "if possible",
  keys({ locks }) {
    // Declares a key that never exists, as `readRelease` does: the writer's own reads may also be on the new server.
    const keys = locks.flatMap(({ key, holder }) => [
      key,
      waitingWriterKey(key),
      readHoldKey(key, holder, 1),
    ]);
    for (const { key, looks } of locks) if (looks !== undefined) keys.push(writersQueueKey(key));
    return keys;
  },
  args({ notAfterMs, locks }) {
    const args: (string | number)[] = [notAfterMs];
    for (const { key, holder, heldCount, keptCount, ttlMs, channel } of locks)
      args.push(holder, heldCount, keptCount, ttlMs, channel, readHoldPrefix(key));
    for (const { looks } of locks) if (looks !== undefined) args.push(wayOf(looks));
    return args;
  },
  reply: (answers) => answers.map(releaseAnswer),
});

/** Prolongs read holds; see read-renew.lua. */
export const readRenew: Script<readonly Renewal[], readonly RenewAnswer[]> = defineScript({
  source: scripts.readRenew,
  replicated: true,
  keys: (locks) => locks.flatMap(({ key, holder, holdMs }) => [key, ...holdKeys(key, holder, holdMs.length)]),
  args: (locks) =>
    locks.flatMap(({ holder, leaseMs, holdMs }) => [holder, leaseMs, holdMs.length, ...holdMs]),
  reply: (answers) => answers.map(renewAnswer),
});

/** The keys of a reader's first holds. */
export function holdKeys(key: string, holder: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => readHoldKey(key, holder, at + 1));
}
