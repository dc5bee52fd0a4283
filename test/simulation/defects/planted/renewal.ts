import type { Defect } from "../defect.js";

/** The watchdog, and leases that nobody has any more. */
export const renewalDefects: readonly Defect[] = [
  {
    name: "renewal-of-released",
    promise: "A released or forgotten lease is not renewed.",
    shows:
      "A lease is forgotten, or its release is never answered, and the watchdog keeps its field alive for ever.",
    origin: "B1",
    edits: [
      {
        file: "src/threads/stay.ts",
        find: "this.changes += 1;\n    this.lapsing();",
        replace: "this.changes += 1;",
      },
      {
        file: "src/runtime/watchdog.ts",
        find: "const isWanted = renewable.isAlive(at);",
        replace: "const isWanted = true;",
      },
    ],
  },
  {
    name: "forgotten-lease-renewed",
    promise: "A lease that was forgotten without release lets others in after its TTL.",
    shows: "The collector takes a lease that nobody has released.",
    edits: [{ file: "src/threads/abandonment.ts", find: "hold.forget();", replace: "" }],
  },
  {
    name: "cradle-mixed-up",
    promise: "A forgotten lease lets others in after its TTL, whichever other leases were released earlier.",
    shows: "Of several young leases one is released, and another is forgotten and collected.",
    edits: [{ file: "src/threads/abandonment.ts", find: "last.cradle = at;", replace: "" }],
  },
  {
    name: "renewal-makes-anew",
    promise: "A renewal never takes back a lock that was lost.",
    shows:
      "A holder is cut off past its lease, or freed by force, while another has entered, and its renewal comes late.",
    origin: "B23",
    kinds: ["lock", "fair", "fenced", "spin", "non-reentrant"],
    edits: [
      {
        file: "src/protocol/scripts/lock-renew.lua",
        find: 'elseif there == 0 then\n    return "lost"\n  end',
        replace: 'elseif there == 0 then\n    redis.call("HSET", lock, holder, "1")\n  end',
      },
    ],
  },
  {
    name: "renewal-finds-nothing",
    promise: "A holder whose lock was taken away learns it from its next renewal.",
    shows:
      "A lock is freed by force or its server emptied, and another enters, while the holder goes on for a whole lease.",
    origin: "wire-S15",
    edits: [
      {
        file: "src/runtime/watchdog.ts",
        find: "if (renewable.gone()) this.remove(renewable);",
        replace: "",
      },
    ],
  },
  {
    name: "watchdog-dies",
    promise: "A failed renewal is tried again, and the lease survives a short outage.",
    shows:
      "The connection is cut, or the server silent, for a moment at a renewal, and is well again long before the lease ends.",
    origin: "B4",
    edits: [
      {
        file: "src/runtime/watchdog.ts",
        find: "this.#retry(wanted, turn, error);\n      }",
        replace: "}",
      },
    ],
  },
  {
    name: "watchdog-too-late",
    promise: "A lease without leaseMs lasts for as long as the work takes.",
    shows: "A task holds for longer than the watchdog's lease, without any fault.",
    edits: [
      {
        file: "src/runtime/watchdog.ts",
        find: "const RENEWALS_PER_LEASE = 3;",
        replace: "const RENEWALS_PER_LEASE = 0.9;",
      },
    ],
  },
  {
    name: "renewed-too-often",
    promise: "A lease is renewed once in every third of its length.",
    shows: "A task holds for as long as a lease, without any fault.",
    edits: [
      {
        file: "src/runtime/watchdog.ts",
        find: "const RENEWALS_PER_LEASE = 3;",
        replace: "const RENEWALS_PER_LEASE = 60;",
      },
    ],
  },
  {
    name: "call-beat-ignored",
    promise: "A hold with its own watchdogMs is renewed once in every third of this time.",
    shows:
      "A call asks for a shorter lease than the client's, and holds for longer than that lasts, without any fault.",
    edits: [
      {
        file: "src/runtime/watchdogs.ts",
        find: "if (ms === this.usual.leaseMs) return this.usual;",
        replace: "if (ms > 0) return this.usual;",
      },
    ],
  },
  {
    name: "inner-lease-not-lengthened",
    promise: "If an outer hold has the longer lease, the inner hold lasts as long as this lease.",
    shows:
      "A call enters once more for a shorter lease, and stays for longer than that, or the renewals of the outer one fail.",
    origin: "R37",
    edits: [
      {
        file: "src/locks/attempt.ts",
        find: "wish.lengthen(leastLeaseMs);",
        replace: "wish.lengthen(wish.leaseMs);",
      },
    ],
  },
  {
    name: "overtaken-renewal-is-a-loss",
    promise: "A reader's lease is not reported as lost while Redis has its hold.",
    shows:
      "A reader releases one of two holds while a renewal of both is under way, and the renewal finds one key gone.",
    origin: "B22",
    kinds: ["read-write", "fair read-write"],
    edits: [
      {
        file: "src/threads/renewed-stay.ts",
        find: "if (this.lock.kind.shared && (!this.isAlive() || this.#renewedChanges !== this.changes)) return false;",
        replace: "",
      },
    ],
  },
  {
    name: "short-reader-lease-not-asserted",
    promise: "A reader's fixed lease is safe from the watchdog of a JVM.",
    shows:
      "A JVM reads beside a fixed lease that is longer than its watchdog's, lowers the TTL of both, and dies.",
    origin: "R10",
    kinds: ["read-write", "fair read-write"],
    edits: [
      {
        file: "src/threads/renewed-stay.ts",
        find: "return isRenewed || this.lock.kind.shared;",
        replace: "return isRenewed;",
      },
    ],
  },
];
