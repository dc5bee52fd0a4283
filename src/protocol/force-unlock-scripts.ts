import { defineScript, type Script } from "./define-script.js";
import { fairKeysOf, fairTimesFor } from "./fair-scripts.js";
import * as scripts from "./later-scripts.js";
import { MODE_FIELD, waitingKey, writersQueueKey } from "./names.js";
import { holdKeys } from "./read-write-scripts.js";
import { list, text, unexpected } from "./replies.js";
import type { RawReply } from "./script-call.js";

/** A higher hold count is unreasonable, and counts as this number. */
const MOST_HOLDS = 10_000;
/** The messages to waiters. Source: LockPubSub: 0 wakes one waiter of each process, 1 wakes all. */
const UNLOCKED = "0";
const WRITE_UNLOCKED = "1";

export interface ForceUnlock {
  readonly key: string;
  readonly notAfterMs: number;
  readonly channel: string;
  /** The holders that the caller has seen, with their hold counts, and "mode" of a read-write lock. */
  readonly seen: Readonly<Record<string, string>>;
}

export type ForceUnlockAnswer =
  | { readonly status: "released" | "absent" | "changed" | "late" }
  | { readonly status: "wrong-type"; readonly type: string };

function forceUnlockAnswer(raw: RawReply | undefined): ForceUnlockAnswer {
  const [status, type] = list(raw);
  switch (status) {
    case "released":
    case "absent":
    case "changed":
    case "late":
      return { status };
    case "wrong-type":
      return { status, type: text(type) };
    default:
      throw unexpected("a force-unlock answer", raw);
  }
}

/** Frees a lock from the seen holders; see lock-force-unlock.lua. */
export const lockForceUnlock: Script<ForceUnlock, ForceUnlockAnswer> = defineScript({
  source: scripts.lockForceUnlock,
  replicated: "if possible",
  keys: ({ key }) => [key, waitingKey(key)],
  args: ({ notAfterMs, channel, seen }) => [notAfterMs, channel, ...Object.entries(seen).flat()],
  reply: ([answer]) => forceUnlockAnswer(answer),
});

/** Frees a fair lock from the seen holders; see fair-force-unlock.lua. */
export const fairForceUnlock: Script<ForceUnlock, ForceUnlockAnswer> = fairScript({ tellsAll: false });

/** Like `fairForceUnlock`, for a lock that may be fair or of another kind. */
export const anyForceUnlock: Script<ForceUnlock, ForceUnlockAnswer> = fairScript({ tellsAll: true });

function fairScript({ tellsAll }: { readonly tellsAll: boolean }): Script<ForceUnlock, ForceUnlockAnswer> {
  return defineScript({
    source: scripts.fairForceUnlock,
    replicated: "if possible",
    keys: (call) => [...fairKeysOf(call), waitingKey(call.key)],
    args: ({ notAfterMs, channel, seen }, dialect) => [
      notAfterMs,
      channel,
      tellsAll ? 1 : 0,
      ...fairTimesFor(dialect),
      ...Object.entries(seen).flat(),
    ],
    reply: ([answer]) => forceUnlockAnswer(answer),
  });
}

/** Frees a lock from the seen readers; see read-write-force-unlock.lua. */
export const readForceUnlock: Script<ForceUnlock, ForceUnlockAnswer> = readWriteScript(UNLOCKED);

/** Frees a lock from the seen writer and the writer's own reads; see read-write-force-unlock.lua. */
export const writeForceUnlock: Script<ForceUnlock, ForceUnlockAnswer> = readWriteScript(WRITE_UNLOCKED);

function readWriteScript(message: string): Script<ForceUnlock, ForceUnlockAnswer> {
  return defineScript({
    source: scripts.readWriteForceUnlock,
    replicated: "if possible",
    keys: ({ key, seen }) => [
      key,
      writersQueueKey(key),
      ...Object.entries(seen).flatMap(([field, count]) =>
        field === MODE_FIELD ? [] : holdKeys(key, field, Math.min(Number(count) || 0, MOST_HOLDS)),
      ),
    ],
    args: ({ notAfterMs, channel, seen }) => [notAfterMs, channel, message, ...Object.entries(seen).flat()],
    reply: ([answer]) => forceUnlockAnswer(answer),
  });
}
