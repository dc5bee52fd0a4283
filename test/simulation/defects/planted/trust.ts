import type { Defect } from "../defect.js";

/** How long a hold is believed, and what is told of its end. */
export const trustDefects: readonly Defect[] = [
  {
    name: "trust-from-reply",
    promise: "A lease is believed for no longer than Redis keeps it.",
    shows:
      "The answer to an acquisition is delayed; the holder counts from it, and is stopped past the end of its lease.",
    origin: "simulation.md",
    edits: [
      {
        file: "src/runtime/sender.ts",
        find: "command.answered({ reply, serverMs, clock, sentAt, resets, repeated, shortfall });",
        replace:
          "command.answered({ reply, serverMs, clock, sentAt: { monotonicMs: this.#clock.monotonicMs(), wallMs: this.#clock.wallMs() }, resets, repeated, shortfall });",
      },
    ],
  },
  {
    name: "renewal-trusted-from-reply",
    promise: "A renewed lease is counted from the moment at which the renewal was sent.",
    shows:
      "The answer to a renewal is delayed, and the next renewals fail: the holder believes for as long as the delay too much.",
    origin: "R3",
    edits: [
      {
        file: "src/runtime/watchdog.ts",
        find: "renewable.renewed(sentAt, at);",
        replace: "renewable.renewed(at, at);",
      },
    ],
  },
  {
    name: "no-margin",
    promise: "A lock has one holder even if clocks run at different rates.",
    shows: "A server's clock is faster than that of the holder, whose renewals fail until its lease ends.",
    origin: "simulation.md",
    edits: [
      {
        file: "src/threads/terms.ts",
        find: "trustedMs: leaseMs - lostMs };",
        replace: "trustedMs: leaseMs + lostMs };",
      },
    ],
  },
  {
    name: "suspended-machine",
    promise: "A machine that was suspended past its lease knows that the lease is over.",
    shows:
      "The monotonic clock of the holder stands for longer than its lease, and another enters meanwhile.",
    origin: "R11",
    edits: [
      {
        file: "src/threads/terms.ts",
        find: "return Math.min(sentAt.monotonicMs + ms - at.monotonicMs, sentAt.wallMs + ms - at.wallMs);",
        replace: "return sentAt.monotonicMs + ms - at.monotonicMs;",
      },
    ],
  },
  {
    name: "state-not-looked-at",
    promise: "The state of a lease is true even after its process was stopped for long.",
    shows: "The holder is stopped past its lease, and asks for the state of the lease in its first step.",
    origin: "B24",
    edits: [
      {
        file: "src/threads/trust.ts",
        find: "get state(): HoldState {\n    this.checkMs();",
        replace: "get state(): HoldState {",
      },
    ],
  },
  {
    name: "signal-not-in-time",
    promise: "The signal of a lease aborts when its time is over, even if no code reads the lease.",
    shows: "A fixed lease ends, or no renewal arrives, while its body sleeps and relies on the signal.",
    origin: "own-15",
    edits: [
      {
        file: "src/threads/trust.ts",
        find: "if (this.checkMs() < Number.POSITIVE_INFINITY) this.#alarms.set(this);",
        replace: "this.checkMs();",
      },
    ],
  },
  {
    name: "max-hold-ignored",
    promise: "maxHoldMs ends a hold even if it is renewed.",
    shows: "A task holds for longer than its maxHoldMs.",
    edits: [
      {
        file: "src/threads/terms.ts",
        find: "return maxHoldMs === undefined ? end : earlier(end, later(takenAt, maxHoldMs));",
        replace: "return end;",
      },
    ],
  },
  {
    name: "force-for-time",
    promise: "A lease that has run out is reported as expired, not as taken by force.",
    shows: "A fixed lease ends while its release is under way.",
    origin: "own-16",
    edits: [
      {
        file: "src/threads/trust.ts",
        find: 'if (leftMs(end, now(this.clock)) > 0) this.#lost("stolen", this.heldMs);\n    else this.#ranOut();',
        replace: 'this.#lost("stolen", this.heldMs);',
      },
    ],
  },
  {
    name: "expired-for-unreachable",
    promise: "A renewed lease that is lost because no renewal arrived is reported as unreachable.",
    shows: "The connection of a holder is cut for longer than its lease.",
    origin: "wire-S15",
    edits: [
      {
        file: "src/threads/trust.ts",
        find: 'return this.#unconfirmed ? "unreachable" : "expired";',
        replace: 'return this.#unconfirmed ? "stolen" : "expired";',
      },
    ],
  },
  {
    name: "repeat-without-ttl",
    promise: "If an acquisition was sent twice, it is believed for no longer than Redis keeps the lock.",
    shows: "The first answer is lost, the repeat finds the lock taken by itself and does not raise its TTL.",
    origin: "R3",
    kinds: ["lock", "non-reentrant", "spin", "fenced", "multi"],
    edits: [
      {
        file: "src/protocol/scripts/lock-acquire.lua",
        find: "raise_ttl(lock, lease_ms, true)\n    ",
        replace: "",
      },
    ],
  },
  {
    name: "ttl-overwritten",
    promise: "A re-entry with a shorter lease does not shorten the outer lease.",
    shows: "A nested call has a short lease of its own; the outer one is believed on.",
    origin: "wire-S3",
    edits: [
      {
        file: "src/protocol/scripts/include/raise-ttl.lua",
        find: 'if is_repeat or ttl_ms < tonumber(lease_ms) then\n    redis.call("PEXPIRE", key, string.format("%.0f", math.max(ttl_ms, tonumber(lease_ms))))\n  end',
        replace: 'redis.call("PEXPIRE", key, lease_ms)',
      },
    ],
  },
  {
    name: "kept-for-the-innermost",
    promise: "After the release of an inner hold the lock lasts for as long as the outer holds need it.",
    shows: "Three nested holds, the middle one with a short lease; the innermost is released.",
    origin: "wire-S2",
    edits: [
      {
        file: "src/threads/stay.ts",
        find: "return live.reduce((ms, hold) => Math.max(ms, Math.ceil(hold.neededMs())), 1);",
        replace:
          "return live.reduce((ms, hold) => Math.min(ms, Math.max(1, Math.ceil(hold.neededMs()))), 1e15);",
      },
    ],
  },
  {
    name: "lost-twice",
    promise: "A lost lease stays lost, and its reason does not change.",
    shows: "The time of a lease runs out, and then a renewal or a release finds that it is gone.",
    origin: "simulation.md",
    edits: [
      {
        file: "src/threads/trust.ts",
        find: "if (this.checkMs() > 0) this.#lost(reason, this.heldMs);",
        replace: 'if (this.checkMs() > 0 || this.#state === "lost") this.#lost(reason, this.heldMs);',
      },
    ],
  },
  {
    name: "hurt-is-unreachable",
    promise: "A lease that ended because it was too short is reported as expired, not as unreachable.",
    shows: "A fixed lease, or one that was never renewed, runs out.",
    origin: "simulation.md",
    edits: [
      {
        file: "src/threads/trust.ts",
        find: 'if (!this.isRenewed || endMs >= this.#latest.monotonicMs) return "expired";\n    return this.#unconfirmed ? "unreachable" : "expired";',
        replace: 'return "unreachable";',
      },
    ],
  },
  {
    name: "own-lease-not-displaced",
    promise: "A lease is reported as lost when another call of the same client takes its lock.",
    shows: "A lock is freed by force, and another task of the holder's process takes it.",
    origin: "own-21",
    edits: [
      {
        file: "src/locks/enter.ts",
        find: 'if (hold !== undefined) for (const other of others) other.loseAll("stolen");',
        replace: "",
      },
    ],
  },
  {
    name: "own-force-not-told",
    promise: "When a client frees a lock by force, its own leases of that lock are lost at once.",
    shows: "A task frees by force what another of its process holds, which sees its lease held on.",
    origin: "wire-S15",
    edits: [
      {
        file: "src/locks/force-unlock.ts",
        find: "await tellStays(lock, holdersOf(seen), sentMs);",
        replace: "",
      },
    ],
  },
  {
    name: "extension-believed-too-soon",
    promise: "A lease is believed for longer only once Redis has confirmed the longer time.",
    shows: "A lease is set to more than it has, while its server is slow.",
    origin: "P3-2",
    edits: [
      {
        file: "src/threads/changeable-trust.ts",
        find: "this.reletting(leaseMs);\n    if (this.doubts",
        replace: "this.extended(leaseMs, now(this.clock), leaseMs);\n    if (this.doubts",
      },
    ],
  },
  {
    name: "shorter-extension-not-believed",
    promise: "While a lease is being shortened, it is believed only for the shorter time.",
    shows: "A lease is set to less than it has, and the answer is slow, or lost.",
    origin: "P3-2",
    edits: [
      {
        file: "src/threads/changeable-trust.ts",
        find: "this.reletting(leaseMs);\n    if (this.doubts",
        replace: "if (this.doubts",
      },
    ],
  },
  {
    name: "copy-shortens-extension",
    promise: "A copy of an earlier command does not end an extended lease while the lease is still believed.",
    shows: "A shorter extension is repeated, and its first copy arrives after a longer one.",
    origin: "P3-2",
    edits: [
      {
        file: "src/threads/changeable-trust.ts",
        find: "if (copiesTtlMs < leaseMs) {",
        replace: "if (copiesTtlMs < 0) {",
      },
    ],
  },
];
