import type { Defect } from "../defect.js";

/** Releases, their repeats, their late copies, and what is cleaned up behind them. */
export const releaseDefects: readonly Defect[] = [
  {
    name: "release-frees-anybody",
    promise: "A late release does not free the lock of the next holder.",
    shows: "A release is delayed past its lease, another enters, and the release arrives.",
    origin: "B36",
    kinds: ["lock", "fenced", "spin", "non-reentrant"],
    edits: [
      {
        file: "src/protocol/scripts/lock-release.lua",
        find: 'local freed = is_to_free and redis.pcall("HDEL", lock, holder)',
        replace: 'local freed = is_to_free and redis.pcall("DEL", lock)',
      },
    ],
  },
  {
    name: "chosen-id-release-without-deadline",
    promise: "A late copy of a release does not free a later hold under the same chosen id.",
    shows: "A release under a chosen id is repeated, the id is used again, and the first copy arrives.",
    origin: "R1",
    edits: [
      {
        file: "src/locks/lowering.ts",
        find: "this.limited = limited;",
        replace: "this.limited = limited && false;",
      },
    ],
  },
  {
    name: "chosen-id-used-too-soon",
    promise: "A chosen id is not used again while copies of its older commands may arrive.",
    shows: "A command under a chosen id is given up, the id is used again, and the command arrives.",
    origin: "R1",
    edits: [
      {
        file: "src/threads/stay.ts",
        find: "if (this.thread.explicitId !== undefined && this.inRedis.isPossible) {",
        replace: "if (this.thread.explicitId === Number.NaN) {",
      },
    ],
  },
  {
    name: "gone-is-done",
    promise: "unlock() rejects when Redis has nothing left to release.",
    shows: "A lease is freed by force or emptied away, and its holder releases it: once sent, once answered.",
    origin: "R30",
    edits: [
      {
        file: "src/locks/release.ts",
        find: 'if (reply.status === "absent" && repeated && isOver && !isKept) return shortfall === undefined;',
        replace: 'if (reply.status === "absent" && isOver) return shortfall === undefined;',
      },
    ],
  },
  {
    name: "kept-repeat-is-stolen",
    promise: "A released inner hold is not reported as stolen when the outer hold runs out.",
    shows: "The answer to an inner release is lost, and its repeat comes after the lease of the outer hold.",
    origin: "own-30",
    edits: [
      {
        file: "src/locks/release.ts",
        find: "keptCount === 0 || stay.live.length === 0;",
        replace: "keptCount === 0;",
      },
    ],
  },
  {
    name: "repeat-is-refused",
    promise: "unlock() of the owner resolves even if its answer was lost.",
    shows: "The answer to a release is lost, and the repeat finds the field gone.",
    origin: "B14",
    edits: [
      {
        file: "src/locks/release.ts",
        find: 'if (reply.status === "absent" && repeated && isOver && !isKept) return shortfall === undefined;',
        replace: "void isOver;",
      },
    ],
  },
  {
    name: "repeat-not-marked",
    promise: "A client knows that it has sent a command twice.",
    shows: "The connection breaks under a release that has arrived; it is sent again, and answered absent.",
    origin: "B14",
    edits: [
      {
        file: "src/runtime/sender.ts",
        find: "const repeated = pending.doubtful > 0 || this.#driver.resets !== resets;",
        replace: "const repeated = this.#driver.resets !== resets;",
      },
    ],
  },
  {
    name: "resend-not-noticed",
    promise: "holdfast knows that the Redis client has sent a command again after a reconnect.",
    shows:
      "A client that resends loses its connection after a release has arrived; the second copy is answered absent.",
    origin: "R30",
    edits: [
      {
        file: "src/runtime/sender.ts",
        find: "const repeated = pending.doubtful > 0 || this.#driver.resets !== resets;",
        replace: "const repeated = pending.doubtful > 0;",
      },
    ],
  },
  {
    name: "group-forgets-doubt",
    promise:
      "If a group of releases gets no answer, the client sends each release again alone, and no release is refused.",
    shows: "A group of releases is carried out, its answer is lost, and each is sent again alone.",
    origin: "B14",
    edits: [
      {
        file: "src/runtime/groups.ts",
        find: "else new Group(commands, this.script, request).send({ ...started, doubtful });",
        replace: "else new Group(commands, this.script, request).send({ ...started, doubtful: 0 });",
      },
    ],
  },
  {
    name: "release-not-tried-on",
    promise: "A release without an answer is retried, so that others get the lock.",
    shows:
      "A release is not answered in time and never arrives: the field stays for its TTL, and nobody holds it.",
    edits: [
      {
        file: "src/locks/release.ts",
        find: "if (!isFinal || !isReplicated || copiesUntilMs > 0 || reconciler !== undefined) reconcile(lock, stay);",
        replace: "",
      },
    ],
  },
  {
    name: "refused-release-given-up",
    promise: "A refused release is retried, so that others get the lock.",
    shows: "A server refuses releases for longer than a command may take, as in a failover.",
    origin: "own-29",
    edits: [
      {
        file: "src/locks/reconciler.ts",
        find: "if (!(error instanceof UnavailableError) || isOver(error)) return",
        replace: "if (!(error instanceof UnavailableError) || !error.outcomeUnknown || isOver(error)) return",
      },
    ],
  },
  {
    name: "released-key-cut-short",
    promise: "The release of an existing hold does not report that the hold was stolen.",
    shows: "The refused release of one of a reader's holds is tried on while the other is released.",
    origin: "own-31",
    kinds: ["read-write", "fair read-write"],
    edits: [
      {
        file: "src/threads/stay.ts",
        find: "const restMs = this.releases > 0 ? this.neededMs([]) : 1;",
        replace: "const restMs = 1;",
      },
    ],
  },
  {
    name: "cancelled-acquisition-kept",
    promise: "A cancelled call leaves nothing in Redis.",
    shows: "A signal aborts while the acquisition is under way, which then takes the lock.",
    origin: "B37",
    edits: [
      {
        file: "src/locks/attempt.ts",
        find: "if (hold !== undefined) return giveBack(lock, hold);",
        replace: "if (hold !== undefined) return void giveBack;",
      },
    ],
  },
  {
    name: "no-clean-up",
    promise: "An acquisition without an answer is undone.",
    shows: "An acquisition arrives, its answers are lost until its call gives up, and nobody has the lock.",
    origin: "R2",
    edits: [
      {
        file: "src/locks/clean-up.ts",
        find: "if (inRedis.isDoubtful) reconcile(lock, stay);",
        replace: "if (inRedis.isDoubtful && isRecorded) reconcile(lock, stay);",
      },
    ],
  },
  {
    name: "stranger-by-clean-up",
    promise:
      "unlock() in asThread releases the lock that its thread has taken, however earlier calls have ended.",
    shows: "A call of a thread fails, and while it is cleaned up the thread takes the lock and unlocks it.",
    origin: "own-25",
    edits: [
      {
        file: "src/threads/thread.ts",
        find: "return isLeftOver && this.explicitId === undefined ? undefined : stay;",
        replace: "return stay;",
      },
    ],
  },
  {
    name: "clean-up-ends-early",
    promise: "Clean-up goes on for as long as a copy of the command that it undoes may arrive.",
    shows:
      "An acquisition is delayed in a dying connection, the clean-up finds nothing, and then it arrives.",
    origin: "R2",
    edits: [
      {
        file: "src/locks/reconciler.ts",
        find: "const step = this.#record.next(this.#stay.wanted(this.#goesOn));",
        replace:
          'const step = this.#failures < 0 ? ({ does: "nothing" } as const) : this.#record.next(this.#stay.wanted(this.#goesOn));\n    this.#failures = -1;',
      },
    ],
  },
  {
    name: "acquire-without-deadline",
    promise: "An acquisition that arrives after it was given up changes nothing.",
    shows: "The late ghost of an acquisition arrives after everything about it was cleaned up.",
    origin: "R2",
    kinds: ["lock", "fenced", "spin", "non-reentrant", "multi"],
    edits: [
      {
        file: "src/protocol/scripts/lock-acquire.lua",
        find: 'if now_ms > not_after_ms then\n    return "late"\n  end\n',
        replace: "",
      },
      {
        file: "src/protocol/scripts/lock-acquire.lua",
        find: " and now_ms <= not_after_ms then",
        replace: " then",
      },
    ],
  },
  {
    name: "fair-acquire-without-deadline",
    promise: "A question about a fair lock that arrives after it was given up changes nothing.",
    shows: "The late ghost of a question puts a field of nobody into the queue, or takes the lock for it.",
    origin: "R2",
    kinds: ["fair", "non-reentrant fair"],
    edits: [
      {
        file: "src/protocol/scripts/fair-acquire.lua",
        find: 'if now_ms > not_after_ms then\n    return { "late" }\n  end\n',
        replace: "",
      },
    ],
  },
  {
    name: "counted-up",
    promise: "An acquisition counts once, however often it is sent.",
    shows:
      "The answer to a nested acquisition is lost: the repeat counts once more, and the inner release leaves one too many.",
    origin: "B15",
    kinds: ["lock", "fenced", "spin"],
    edits: [
      {
        file: "src/protocol/scripts/lock-acquire.lua",
        find: "local is_repeat = count == new_count",
        replace: "local is_repeat = false",
      },
      {
        file: "src/protocol/scripts/lock-acquire.lua",
        find: 'redis.pcall("HSET", lock, holder, new_count)',
        replace: 'redis.pcall("HINCRBY", lock, holder, 1)',
      },
    ],
  },
  {
    name: "commands-out-of-turn",
    promise:
      "The commands of one holder for one lock are sent one after the other, so that each knows the previous hold count.",
    shows: "Two holds of one stay are released at once while the first command is delayed or repeated.",
    edits: [
      {
        file: "src/threads/turns.ts",
        find: "const mine = before === undefined ? work() : before.then(work, work);",
        replace: "const mine = work();",
      },
    ],
  },
  {
    name: "settled-forgotten",
    promise: "After a re-entry the holder can enter once more, and its last release frees the lock.",
    shows: "Two siblings enter what their path holds: the second waits for a command that is over.",
    origin: "simulation.md",
    edits: [
      {
        file: "src/locks/acquisition.ts",
        find: "this.#entered?.settled(true);",
        replace: "",
      },
    ],
  },
  {
    name: "short-release-hides-a-grant",
    promise:
      "If the answer to an acquisition comes too late, the lock is released, even if replicas lack the acquisition.",
    shows:
      "A release that replicas lack, and an acquisition behind it whose answer takes longer than its hold may last.",
    origin: "own-80",
    edits: [
      {
        file: "src/threads/server-record.ts",
        find: "return this.#highest > this.#count || this.#isQueued",
        replace: "return (this.#highest > this.#count && !this.isShort) || this.#isQueued",
      },
    ],
  },
  {
    name: "force-hits-the-next",
    promise: "forceUnlock removes the holders that it has seen, and no others.",
    shows: "The lock changes hands between the look and the command of a forceUnlock.",
    origin: "R9",
    kinds: ["lock", "fenced", "spin", "non-reentrant"],
    edits: [
      {
        file: "src/protocol/scripts/lock-force-unlock.lua",
        find: 'if redis.call("HGET", lock, ARGV[2 * i + 1]) ~= ARGV[2 * i + 2] then',
        replace: "if false then",
      },
    ],
  },
  {
    name: "freed-beside-a-command",
    promise: "Once forceUnlock has resolved, its client does not believe in the lock any more.",
    shows: "A hold is taken while a force-unlock of its client is under way, which frees it.",
    origin: "own-78",
    kinds: ["read-write"],
    edits: [
      {
        file: "src/threads/threads.ts",
        find: "        hasLater = true;",
        replace: "        hasLater = false;",
      },
    ],
  },
  {
    name: "seen-and-not-compared",
    promise: "forceUnlock of an inspected state removes the holders in that state, and no others.",
    shows: "The lock changes hands between an inspect and the forceUnlock of what that has told.",
    origin: "P5",
    kinds: ["lock", "fenced", "spin", "non-reentrant", "fair", "non-reentrant fair"],
    edits: [
      {
        file: "src/protocol/scripts/fair-force-unlock.lua",
        find: 'if redis.call("HGET", lock, ARGV[2 * i + 7])',
        replace: 'if not tells_all and redis.call("HGET", lock, ARGV[2 * i + 7])',
      },
      {
        file: "src/protocol/scripts/fair-force-unlock.lua",
        find: 'if redis.call("HLEN", lock)',
        replace: 'if not tells_all and redis.call("HLEN", lock)',
      },
    ],
  },
  {
    name: "repair-frees-what-is-kept",
    promise:
      "A lock that is kept after its release does not become free too early, even if the release was not answered.",
    shows: "A release that keeps the lock is lost, and another process asks after it was tried on.",
    origin: "P3-1",
    kinds: ["lock", "fenced", "spin", "non-reentrant"],
    edits: [
      {
        file: "src/locks/lowering.ts",
        find: "const sent = await new Lowering(lock, stay, sending, repeated).send();",
        replace:
          "if (repeated || stay.releases === 0) stay.inRedis.keepForMs = 0;\n    const sent = await new Lowering(lock, stay, sending, repeated).send();",
      },
    ],
  },
  {
    name: "repeat-prolongs-what-is-kept",
    promise: "If a release keeps the lock and is sent twice, the second copy changes nothing.",
    shows: "A release that keeps the lock is repeated by a server that has done it.",
    origin: "P3-1",
    kinds: ["lock", "fenced", "spin", "non-reentrant"],
    edits: [
      {
        file: "src/protocol/scripts/lock-keep.lua",
        find: 'return redis.call("HEXISTS", lock, kept) == 1 and "released" or "absent"',
        replace:
          'redis.call("HSET", lock, kept, "1")\n  redis.call("PEXPIRE", lock, keep_ms)\n  return "released"',
      },
    ],
  },
  {
    name: "kept-lock-is-free",
    promise: "While a lock is kept after its release, no call gets it.",
    shows: "Any release that keeps the lock, while another process asks.",
    origin: "P3-1",
    kinds: ["lock", "fenced", "spin", "non-reentrant"],
    edits: [
      {
        file: "src/protocol/scripts/lock-keep.lua",
        find: 'redis.call("HSET", lock, kept, "1")',
        replace: "",
      },
    ],
  },
];
