import type { Defect } from "../defect.js";

const PAIRS = ["read-write", "fair read-write"] as const;

/** Readers and writers of one lock. */
export const readWriteDefects: readonly Defect[] = [
  {
    name: "reader-keys-not-renewed",
    promise: "A renewed read hold keeps writers out.",
    shows: "A reader holds for longer than a lease, and the release of another finds none of its keys.",
    kinds: PAIRS,
    edits: [
      {
        file: "src/protocol/scripts/read-renew.lua",
        find: 'if ARGV[arg_at + 2 + i] ~= "0" then\n      raise_ttl',
        replace: 'if ARGV[arg_at + 2 + i] == "" then\n      raise_ttl',
      },
      {
        file: "src/protocol/scripts/read-renew.lua",
        find: " or is_gone(key_at, arg_at, count) then",
        replace: " then",
      },
    ],
  },
  {
    name: "reader-leases-swapped",
    promise: "If one of several read holds is released, the others keep their own leases.",
    shows: "A reader with a short lease enters again with a long one, and releases the short one.",
    origin: "wire-S26",
    kinds: PAIRS,
    edits: [
      {
        file: "src/protocol/scripts/read-release.lua",
        find: 'if redis.call("PEXPIRE", hold, kept_ms) == 0 then',
        replace: 'if redis.call("EXISTS", hold) == 0 then',
      },
    ],
  },
  {
    name: "last-reader-frees-all",
    promise: "A reader that leaves does not end the holds of other readers.",
    shows: "One of two readers releases, and a writer waits.",
    origin: "B29",
    kinds: PAIRS,
    edits: [
      {
        file: "src/protocol/scripts/read-release.lua",
        find: "local longest = longest_read_ms(lock, prefix)",
        replace: "local longest = 0",
      },
    ],
  },
  {
    name: "read-after-write-lost",
    promise: "A writer that also reads keeps its read lock when it releases the write lock.",
    shows: "A writer takes the read lock, releases the write lock, and another writes.",
    origin: "B29",
    kinds: PAIRS,
    edits: [
      {
        file: "src/protocol/scripts/write-release.lua",
        find: "local longest = longest_read_ms(lock, prefix)\n",
        replace: "local longest = 0\n",
      },
    ],
  },
  {
    name: "writer-lowers-its-reads",
    promise: "A writer that releases an inner hold leaves its longer read lease alone.",
    shows:
      "A writer with a short lease, twice in, reads with a long lease, and releases its inner write hold.",
    origin: "wire-S7",
    kinds: PAIRS,
    edits: [
      {
        file: "src/protocol/scripts/write-release.lua",
        find: "local kept_ms = math.max(tonumber(ttl_ms), longest_read_ms(lock, prefix))",
        replace: "local kept_ms = tonumber(ttl_ms)",
      },
    ],
  },
  {
    name: "guest-of-a-lost-write",
    promise: "After a write hold is lost, its thread can not use it to get the read lock.",
    shows:
      "The write hold of a path is freed by force or runs out, another writes, and the path asks to read.",
    kinds: PAIRS,
    edits: [
      {
        file: "src/protocol/scripts/read-acquire.lua",
        find: 'if redis.call("HEXISTS", lock, kin) == 1 then\n      return nil\n    end\n    return { "lost" }',
        replace: "return nil",
      },
    ],
  },
  {
    name: "downgrade-tells-nobody",
    promise:
      "Waiting readers enter as soon as a writer has released its write lock and keeps only the read lock.",
    shows: "A writer releases its write lock and goes on reading, and readers wait elsewhere.",
    origin: "wire-L11",
    kinds: PAIRS,
    edits: [
      {
        file: "src/protocol/scripts/write-release.lua",
        find: 'return publish(channel, "1"), longest == 0',
        replace: 'return longest == 0 and publish(channel, "1") or 0, longest == 0',
      },
    ],
  },
  {
    name: "read-without-deadline",
    promise: "A question of a reader changes nothing if it arrives after it was given up.",
    shows: "The late ghost of a read acquisition makes a hold that nobody has.",
    origin: "R2",
    kinds: PAIRS,
    edits: [
      {
        file: "src/protocol/scripts/read-acquire.lua",
        find: 'if now_ms > not_after_ms then\n    return { "late" }\n  end\n',
        replace: "",
      },
      {
        file: "src/protocol/scripts/write-acquire.lua",
        find: 'if now_ms > not_after_ms then\n    return { "late" }\n  end\n',
        replace: "",
      },
    ],
  },
  {
    name: "readers-cut-short",
    promise: "When a reader leaves, the other readers keep the lock for their own leases.",
    shows: "One of two readers releases, and a writer asks.",
    kinds: PAIRS,
    edits: [
      {
        file: "src/protocol/scripts/read-release.lua",
        find: 'if set_ttl(lock, string.format("%.0f", longest), worth',
        replace: 'if set_ttl(lock, "1", worth',
      },
    ],
  },
];
