import type { Defect } from "../defect.js";

const FAIR = ["fair", "non-reentrant fair"] as const;

/** Queues, grants and signs of life of fair locks. */
export const fairDefects: readonly Defect[] = [
  {
    name: "grant-of-an-older-stay",
    promise: "If a waiter has given a granted lock back, a late message about that grant does not let it in.",
    shows:
      "A waiter with a short lease is granted the lock and asks before it hears of that, takes the lock too late, gives it back, and stands in the queue again within one millisecond; then the message arrives.",
    origin: "own-1",
    kinds: FAIR,
    edits: [
      {
        file: "src/locks/fair-lock.ts",
        find: "asksAgain: boolean = this.part.stay.thread.explicitId !== undefined;",
        replace: "asksAgain: boolean = true;",
      },
      {
        file: "src/locks/fair-lock.ts",
        find: "if (place.repeated || place.pushed !== (this.#place === undefined)) this.#once = false;",
        replace: "",
      },
      {
        file: "src/protocol/messages.ts",
        find: "given: untilMs !== UNLOCKED",
        replace: "given: Number(untilMs) as unknown as boolean",
      },
      {
        file: "src/locks/fair-lock.ts",
        find: "if (given) this.#granted = true;",
        replace: "if (given) this.#granted = given;",
      },
      {
        file: "src/locks/fair-lock.ts",
        find: "this.#granted = false;\n    const place = this.#once ? this.#place : undefined;",
        replace:
          "const givenMs = Number(this.#granted) - 4_000; this.#granted = false;\n    const place = this.#once && this.#place !== undefined && givenMs >= (this.#place as unknown as { serverMs: number }).serverMs ? this.#place : undefined;",
      },
      {
        file: "src/locks/fair-lock.ts",
        find: "} else {\n      this.line.wake(why);\n    }",
        replace:
          '} else {\n      if (answer.status === "gone") this.#once = false;\n      this.line.wake(why);\n    }',
      },
      {
        file: "src/locks/refusal.ts",
        find: "{ sentAt, resets, repeated }: Exchanged<unknown>,",
        replace: "{ sentAt, resets, repeated, serverMs }: Exchanged<unknown>,",
      },
      {
        file: "src/locks/refusal.ts",
        find: "pushed: answer.pushed,",
        replace: "pushed: answer.pushed, serverMs,",
      },
    ],
  },
  {
    name: "grant-heard-by-all",
    promise: "A message about a grant lets in only the waiter that the message names.",
    shows: "Several calls of one client wait, and one of them is granted the lock.",
    kinds: FAIR,
    edits: [
      {
        file: "src/runtime/fair-queue.ts",
        find: "if (turn !== undefined) this.#entries.get(turn.threadId)?.told(turn.given);",
        replace:
          "if (turn !== undefined) for (const entry of this.#entries.values()) entry.told(turn.given);",
      },
    ],
  },
  {
    name: "grant-heard-twice",
    promise: "If a waiter may have been in the queue twice, it asks Redis before it enters.",
    shows:
      "A question is repeated unseen and queues its field twice; the first time is granted, spent and told of late.",
    origin: "own-1",
    kinds: FAIR,
    edits: [
      {
        file: "src/locks/fair-lock.ts",
        find: "if (place.repeated || place.pushed !== (this.#place === undefined)) this.#once = false;",
        replace: "",
      },
    ],
  },
  {
    name: "grant-to-a-chosen-id",
    promise: "A grant to an earlier call under a chosen id does not let a later call under that id in.",
    shows:
      "A waiter under a chosen id gives up as it is granted; the id waits again, and the message arrives.",
    origin: "R4",
    kinds: FAIR,
    edits: [
      {
        file: "src/locks/fair-lock.ts",
        find: "#once = this.part.stay.thread.explicitId === undefined;",
        replace: "#once = true;",
      },
    ],
  },
  {
    name: "grant-trusted-from-message",
    promise: "A granted lock is believed for no longer than Redis keeps it.",
    shows: "The message about a grant is delayed, or its reader stopped, for most of the grant's time.",
    origin: "R4",
    kinds: FAIR,
    edits: [
      {
        file: "src/locks/grant.ts",
        find: "const until = later(place.sentAt, grantMs - marginMs(grantMs, wish.terms));",
        replace: "const until = later(now(client.clock), grantMs - marginMs(grantMs, wish.terms));",
      },
    ],
  },
  {
    name: "grant-not-confirmed",
    promise: "The lease of a granted lock has its full length.",
    shows: "A lock is granted, and held for longer than a grant lasts.",
    origin: "simulation.md",
    kinds: FAIR,
    edits: [
      {
        file: "src/locks/grant.ts",
        find: 'if (hold.state === "held" && hold.provisional) confirm(lock, stay);',
        replace: "void confirm;",
      },
    ],
  },
  {
    name: "grant-prolongs-fixed-lease",
    promise: "A fixed lease that began with a grant ends on time.",
    shows: "A waiter with a fixed lease is granted the lock, confirms it late, and believes it from then on.",
    kinds: FAIR,
    edits: [
      {
        file: "src/threads/trust.ts",
        find: "this.confirm(this.isRenewed ? sentAt : this.takenAt);",
        replace: "this.confirm(sentAt);",
      },
    ],
  },
  {
    name: "grant-without-ttl",
    promise: "A lock that was granted to a dead waiter goes to the next waiter.",
    shows: "The process of the next in the queue is killed when it is granted the lock.",
    origin: "R23",
    kinds: FAIR,
    edits: [
      {
        file: "src/protocol/scripts/include/fair-queue.lua",
        find: 'redis.call("PEXPIRE", fair.lock, grant_ms)',
        replace: "",
      },
    ],
  },
  {
    name: "grant-shorter-than-believed",
    promise: "A granted lock is kept for as long as its waiter may believe it.",
    shows: "The waiter that was granted the lock is stopped or cut off before it confirms.",
    kinds: FAIR,
    edits: [
      {
        file: "src/protocol/scripts/include/fair-queue.lua",
        find: 'redis.call("PEXPIRE", fair.lock, grant_ms)',
        replace: 'redis.call("PEXPIRE", fair.lock, milliseconds(times.grant_ms / 2))',
      },
    ],
  },
  {
    name: "lost-grant-not-asked-for",
    promise:
      "A waiter that missed the message about its grant learns of the grant from its next sign of life.",
    shows: "The message about a grant is lost; the sign of life tells of it, and nobody asks.",
    origin: "R23",
    kinds: FAIR,
    edits: [
      {
        file: "src/locks/fair-lock.ts",
        find: "} else {\n      this.line.wake(why);\n    }",
        replace: "}",
      },
    ],
  },
  {
    name: "no-signs-of-life",
    promise: "A live waiter keeps its place, even if a message is lost.",
    shows:
      "A waiter stands behind a hold that lasts longer than it is believed alive, and is thrown out unseen.",
    origin: "wire-L6",
    kinds: FAIR,
    edits: [
      {
        file: "src/runtime/fair-queues.ts",
        find: 'this.#refreshAll(standing, "timer");',
        replace: "",
      },
    ],
  },
  {
    name: "dead-when-it-comes",
    promise: "Waiters get a fair lock in the order of the queue.",
    shows: "A waiter that has just come is taken for dead when the lock is passed on, and loses its place.",
    origin: "B9",
    kinds: FAIR,
    edits: [
      {
        file: "src/protocol/scripts/fair-acquire.lua",
        find: "local until_ms = milliseconds(now_ms + times.alive_ms)",
        replace: "local until_ms = milliseconds(now_ms)",
      },
    ],
  },
  {
    name: "leaves-without-a-word",
    promise: "A waiter that gives up leaves the queue.",
    shows: "A wait in a queue is over or cancelled; its field is granted the lock, or stays behind.",
    origin: "wire-L3",
    kinds: FAIR,
    edits: [
      {
        file: "src/locks/acquisition.ts",
        find: "undoCopies(lock, stay, isQueued);",
        replace: "undoCopies(lock, stay);",
      },
      {
        file: "src/locks/acquire-command.ts",
        find: 'if (status === "queued") inRedis.queued();',
        replace: 'if (status === "queued") inRedis.refused(true);',
      },
    ],
  },
  {
    name: "jumps-the-queue",
    promise: "A new call does not overtake the waiters of a fair lock.",
    shows: "The grant of a dead waiter has run out, or a JVM is told to come, and a newcomer asks first.",
    kinds: FAIR,
    edits: [
      {
        file: "src/protocol/scripts/fair-acquire.lua",
        find: "return not head or head == holder",
        replace: "return true",
      },
    ],
  },
  {
    name: "queue-never-ends",
    promise: "The queue of a fair lock is deleted when its last waiter is long dead.",
    shows: "The processes of all who wait are killed, and the name is never used again.",
    origin: "own-3",
    kinds: FAIR,
    edits: [
      {
        file: "src/protocol/scripts/include/fair-keys.lua",
        find: 'redis.call("PEXPIRE", fair.queue, ttl_ms)\n  redis.call("PEXPIRE", fair.timeouts, ttl_ms)',
        replace: "return ttl_ms",
      },
    ],
  },
  {
    name: "each-of-ours-adds",
    promise: "A dead JVM that waits behind clients of holdfast is soon treated as dead.",
    shows: "Several of ours stand before a JVM that dies while it waits.",
    origin: "own-4",
    kinds: FAIR,
    edits: [
      {
        file: "src/protocol/scripts/include/fair-keys.lua",
        find: "if top.holder and not is_ours(top.holder) then",
        replace: "if top.holder then",
      },
    ],
  },
  {
    name: "granted-past-replicas",
    promise: "If replicas are required, no call gets a lock by a write that no replica has acknowledged.",
    shows:
      "A fair lock is granted, its master fails before a replica has that, and another enters at the new one.",
    origin: "R5",
    kinds: FAIR,
    edits: [
      {
        file: "src/runtime/replication.ts",
        find: "return !replication.isOn;",
        replace: "return true;",
      },
    ],
  },
];
