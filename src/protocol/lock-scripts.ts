import { defineScript, type Script } from "./define-script.js";
import { integer, list, text, textOrNull, unexpected } from "./replies.js";
import type { RawReply } from "./script-call.js";
import { sources } from "./scripts.js";

export interface Acquisition {
  readonly key: string;
  readonly holder: string;
  readonly leaseMs: number;
  /** The holder's hold count before this acquisition. */
  readonly heldCount: number;
}

export type AcquireAnswer =
  | { readonly status: "held" | "late" }
  | { readonly status: "busy"; readonly ttlMs: number; readonly holder: string }
  | { readonly status: "lost"; readonly taken: boolean }
  | { readonly status: "wrong-type"; readonly type: string }
  | { readonly status: "miscounted"; readonly holdCount: string }
  | { readonly status: "refused"; readonly message: string };

/** Takes or re-enters locks; see lock-acquire.lua. */
export const lockAcquire: Script<
  { readonly notAfterMs: number; readonly locks: readonly Acquisition[] },
  readonly AcquireAnswer[]
> = defineScript({
  source: sources["lock-acquire"],
  keys: ({ locks }) => locks.map(({ key }) => key),
  args: ({ notAfterMs, locks }) => [
    notAfterMs,
    ...locks.flatMap(({ holder, leaseMs, heldCount }) => [holder, leaseMs, heldCount]),
  ],
  reply: (answers) => answers.map(acquireAnswer),
});

function acquireAnswer(raw: RawReply): AcquireAnswer {
  const [status, first, second] = list(raw);
  switch (status) {
    case "held":
    case "late":
      return { status };
    case "busy":
      return { status, ttlMs: integer(first), holder: text(second) };
    case "lost":
      return { status, taken: integer(first) === 1 };
    case "wrong-type":
      return { status, type: text(first) };
    case "miscounted":
      return { status, holdCount: text(first) };
    case "refused":
      return { status, message: text(first) };
    default:
      throw unexpected("an acquire answer", raw);
  }
}

export interface Release {
  readonly key: string;
  readonly holder: string;
  /** The holder's hold count before this release. */
  readonly heldCount: number;
  /** The hold count to leave. */
  readonly keptCount: number;
  /** What the lock is to live on for, when holds are kept. */
  readonly ttlMs: number;
  readonly channel: string;
}

export type ReleaseAnswer =
  | { readonly status: "released" | "absent" | "late" }
  | { readonly status: "wrong-type"; readonly type: string }
  | { readonly status: "miscounted"; readonly holdCount: string };

/** Lowers hold counts and frees locks; see lock-release.lua. `notAfterMs` 0 means no limit. */
export const lockRelease: Script<
  { readonly notAfterMs: number; readonly locks: readonly Release[] },
  readonly ReleaseAnswer[]
> = defineScript({
  source: sources["lock-release"],
  keys: ({ locks }) => locks.map(({ key }) => key),
  args: ({ notAfterMs, locks }) => [
    notAfterMs,
    ...locks.flatMap((lock) => [lock.holder, lock.heldCount, lock.keptCount, lock.ttlMs, lock.channel]),
  ],
  reply: (answers) => answers.map(releaseAnswer),
});

function releaseAnswer(raw: RawReply): ReleaseAnswer {
  const [status, detail] = list(raw);
  switch (status) {
    case "released":
    case "absent":
    case "late":
      return { status };
    case "wrong-type":
      return { status, type: text(detail) };
    case "miscounted":
      return { status, holdCount: text(detail) };
    default:
      throw unexpected("a release answer", raw);
  }
}

export interface Renewal {
  readonly key: string;
  readonly holder: string;
  readonly leaseMs: number;
}

export type RenewAnswer =
  | { readonly status: "renewed" }
  | { readonly status: "lost"; readonly taken: boolean }
  | { readonly status: "refused"; readonly message: string };

/** Prolongs held locks; see lock-renew.lua. */
export const lockRenew: Script<readonly Renewal[], readonly RenewAnswer[]> = defineScript({
  source: sources["lock-renew"],
  keys: (locks) => locks.map(({ key }) => key),
  args: (locks) => locks.flatMap(({ holder, leaseMs }) => [holder, leaseMs]),
  reply: (answers) => answers.map(renewAnswer),
});

function renewAnswer(raw: RawReply): RenewAnswer {
  const [status, detail] = list(raw);
  switch (status) {
    case "renewed":
      return { status };
    case "lost":
      return { status, taken: integer(detail) === 1 };
    case "refused":
      return { status, message: text(detail) };
    default:
      throw unexpected("a renew answer", raw);
  }
}

export interface ForceUnlock {
  readonly key: string;
  readonly notAfterMs: number;
  readonly channel: string;
  /** The holders that were seen, with their hold counts. */
  readonly seen: Readonly<Record<string, string>>;
}

export type ForceUnlockAnswer =
  | { readonly status: "released" | "absent" | "changed" | "late" }
  | { readonly status: "wrong-type"; readonly type: string };

/** Frees a lock from the holders that were seen; see lock-force-unlock.lua. */
export const lockForceUnlock: Script<ForceUnlock, ForceUnlockAnswer> = defineScript({
  source: sources["lock-force-unlock"],
  keys: ({ key }) => [key],
  args: ({ notAfterMs, channel, seen }) => [notAfterMs, channel, ...Object.entries(seen).flat()],
  reply([raw]) {
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
  },
});

/** What is stored about a lock, whoever stored it. */
export interface LockRecord {
  /** Redis' name of the type of the lock's key; `none` when it is missing. */
  readonly type: string;
  /** -2 when the key is missing, -1 when it has no TTL. */
  readonly ttlMs: number;
  readonly fields: Readonly<Record<string, string>>;
  readonly queue: readonly string[];
  readonly token: string | null;
}

/** Reads all that is stored about a lock; see lock-inspect.lua. */
export const lockInspect: Script<
  { readonly key: string; readonly queueKey: string; readonly tokenKey: string },
  LockRecord
> = defineScript({
  source: sources["lock-inspect"],
  keys: ({ key, queueKey, tokenKey }) => [key, queueKey, tokenKey],
  args: () => [],
  reply: ([type, ttlMs, fields, queue, token]) => ({
    type: text(type),
    ttlMs: integer(ttlMs),
    fields: pairs(list(fields)),
    queue: list(queue).map(text),
    token: textOrNull(token),
  }),
});

function pairs(flat: readonly RawReply[]): Record<string, string> {
  const record: Record<string, string> = {};
  for (let i = 0; i < flat.length; i += 2) record[text(flat[i])] = text(flat[i + 1]);
  return record;
}

/** Asks a server for its clock and version; see server-probe.lua. */
export const serverProbe: Script<undefined, { readonly version: string | null }> = defineScript({
  source: sources["server-probe"],
  keys: () => [],
  args: () => [],
  reply: ([version]) => ({ version: textOrNull(version) }),
});
