import type { Defect } from "../defect.js";

const HANDED = ["lock", "non-reentrant", "multi"] as const;

/** A lock that passes from call to call of one client, and fenced tokens. */
export const handOffDefects: readonly Defect[] = [
  {
    name: "hand-off-past-its-trust",
    promise:
      "Until Redis knows the new holder, a call that was handed a lock believes in it no longer than the former holder did.",
    shows:
      "A lock is handed over, and the client is cut off before Redis is told, for longer than the lease.",
    origin: "simulation.md",
    kinds: HANDED,
    edits: [
      {
        file: "src/locks/hand-off.ts",
        find: "{ takenAt, until: end, unnamed: true }",
        replace: "{ takenAt, unnamed: true }",
      },
    ],
  },
  {
    name: "hand-off-when-cancelled",
    promise: "If a call is cancelled while it is handed a lock, the next call gets the lock.",
    shows: "A signal aborts in the moment in which the lock is handed to its call.",
    origin: "B37",
    kinds: HANDED,
    edits: [
      {
        file: "src/locks/acquisition.ts",
        find: "this.lock.client.inBackground(() => release(this.lock, hold));",
        replace: "void release;",
      },
    ],
  },
  {
    name: "successor-made-of-nothing",
    promise: "If a lock is lost after a hand-over, the client does not acquire it again for the new holder.",
    shows: "A lock is freed by force or runs out, another enters, and then Redis is told of the successor.",
    origin: "R14",
    kinds: HANDED,
    edits: [
      {
        file: "src/protocol/scripts/lock-succeed.lua",
        find: 'return "lost"\nend',
        replace:
          'redis.call("HSET", lock, successor, "1")\n  redis.call("PEXPIRE", lock, lease_ms)\n  return "held"\nend',
      },
    ],
  },
  {
    name: "unnamed-successor-not-freed",
    promise: "If a lock is handed over, and released before Redis knows the new holder, it becomes free.",
    shows: "Two calls follow each other faster than Redis is told; the second releases.",
    origin: "R14",
    kinds: HANDED,
    edits: [
      {
        file: "src/threads/server-record.ts",
        find: "return this.#names === undefined ? [field] : [...new Set([...this.#names, field])];",
        replace: "return [field];",
      },
    ],
  },
  {
    name: "successor-named-by-another",
    promise: "After a hand-over, Redis has the field of the new holder.",
    shows: "A lock passes on once more while Redis is told of the one before.",
    kinds: HANDED,
    edits: [
      {
        file: "src/locks/naming.ts",
        find: "if (sent !== latest) return false;\n    latest.stay.named(sentAt);",
        replace: "latest.stay.named(sentAt);",
      },
    ],
  },
  {
    name: "lost-successor-leaves-names",
    promise: "If a lock was handed over, and lost before Redis knew the new holder, it does not stay taken.",
    shows: "A lock is handed over, naming fails until the trust ends, and the old field lives on.",
    kinds: HANDED,
    edits: [
      {
        file: "src/locks/reconciler.ts",
        find: "await client.commands.exchange(script, key, () => ({ notAfterMs: 0, locks: sendings() }));",
        replace: "void [client, kind, key, locks];",
      },
    ],
  },
  {
    name: "handed-to-a-longer-lease",
    promise: "The TTL of a lock that is handed on covers the lease of its new holder.",
    shows: "A call with a fixed lease hands over to one with a longer one, whose naming keeps the short TTL.",
    origin: "R14",
    kinds: HANDED,
    edits: [
      {
        file: "src/protocol/scripts/lock-succeed.lua",
        find: 'redis.call("PEXPIRE", lock, lease_ms)\n      redis.call("HSET"',
        replace: 'redis.call("HSET"',
      },
    ],
  },
  {
    name: "token-drawn-by-a-repeat",
    promise: "Each acquisition of a fenced lock draws one token, and the holder has the newest.",
    shows: "A late copy of an acquisition that was answered draws a token beside the holder.",
    origin: "wire-S11",
    kinds: ["fenced"],
    edits: [
      {
        file: "src/protocol/scripts/lock-acquire.lua",
        find: "local is_repeat = count == new_count",
        replace: "local is_repeat = not token and count == new_count",
      },
    ],
  },
  {
    name: "repeat-answers-no-token",
    promise: "A repeated fenced acquisition returns the token that was drawn.",
    shows: "The answer to a fenced acquisition is lost, and the repeat finds the lock taken by itself.",
    origin: "wire-S11",
    kinds: ["fenced"],
    edits: [
      {
        file: "src/protocol/scripts/lock-acquire.lua",
        find: '{ "held", redis.call("GET", token) or "0" }',
        replace: '{ "held", count ~= new_count and redis.call("GET", token) or "0" }',
      },
    ],
  },
  {
    name: "token-not-drawn",
    promise: "Tokens grow from holder to holder.",
    shows: "A fenced lock whose counter is there is taken again.",
    kinds: ["fenced"],
    edits: [
      {
        file: "src/protocol/scripts/lock-acquire.lua",
        find: 'local drawn = redis.pcall("INCR", token)',
        replace: 'local drawn = redis.pcall(redis.call("EXISTS", token) == 1 and "GET" or "INCR", token)',
      },
    ],
  },
  {
    name: "fenced-handed-on",
    promise: "Every lease of a fenced lock has a token of its own.",
    shows: "A fenced lock is released while another call of the client waits for it.",
    kinds: ["fenced"],
    edits: [{ file: "src/locks/fenced-lock.ts", find: "handsOver: false,", replace: "handsOver: true," }],
  },
];
