import { alike, type Survivor } from "../survivor.js";

const SCRIPTS = "protocol/scripts";

/** Mutants of the scripts of fair locks that were planted in the sources, whereupon the test that is named was red. */
export const seenInFairScripts: readonly Survivor[] = [
  ...alike(
    "a test sees it",
    "test/unit/fair-lost-keys.test.ts: nothing stays of one who takes the lock and of whom only a score is left",
    [
      [`${SCRIPTS}/fair-acquire.lua`, "27:or-to-and", "elseif found.timeout_ms"],
      [`${SCRIPTS}/fair-acquire.lua`, "5:call-dropped", "leave(fair, holder, found"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/unit/fair-lost-keys.test.ts: nothing stays of one who takes the lock and of whom only a sign of life is left",
    [
      [`${SCRIPTS}/fair-acquire.lua`, "45:or-to-and", "elseif found.timeout_ms"],
      [`${SCRIPTS}/include/fair-queue.lua`, "3:call-dropped", 'redis.call("ZREM", fair.alive, holder'],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/unit/fair-lost-keys.test.ts: one who takes the lock leaves its place behind another",
    [
      [`${SCRIPTS}/fair-acquire.lua`, "58:not-dropped", "elseif found.timeout_ms"],
      [`${SCRIPTS}/include/fair-queue.lua`, "29:or-to-and", "local place = found.place"],
    ],
  ),
  ...alike("a test sees it", "test/unit/fair-acquire.test.ts: mends the place of one whose scores are lost", [
    [`${SCRIPTS}/fair-acquire.lua`, "5:call-dropped", 'redis.call("LREM", fair.queue'],
    [`${SCRIPTS}/fair-acquire.lua`, "13:or-to-and", "if is_new or not timeout_ms"],
  ]),
  ...alike(
    "a test sees it",
    "test/unit/fair-acquire.test.ts: goes to the next one of ours when somebody else asks",
    [
      [`${SCRIPTS}/fair-acquire.lua`, "5:call-dropped", 'redis.call("ZADD", fair.timeouts'],
      [`${SCRIPTS}/fair-acquire.lua`, "63:or-to-and", 'return { "queued", ttl_of'],
      [`${SCRIPTS}/fair-acquire.lua`, "5:call-dropped", "pass_on(fair, now_ms, times"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/unit/fair-acquire.test.ts: tells a waiter whether this very call put its field into the queue",
    [
      [`${SCRIPTS}/fair-acquire.lua`, "89:and-to-or", 'return { "queued", ttl_of'],
      [`${SCRIPTS}/include/fair-keys.lua`, "26:==-to-~=", "return length_of(fair) =="],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/unit/fair-acquire.test.ts: keeps the place and the score of one who asks again",
    [[`${SCRIPTS}/fair-acquire.lua`, "33:==-to-~=", "is_head = front_of(fair)"]],
  ),
  ...alike(
    "a test sees it",
    "test/unit/fair-acquire.test.ts: raises the expiry of a queue that JVMs stand in",
    [
      [`${SCRIPTS}/fair-acquire.lua`, "6:not-dropped", "if not is_new and not fair.is_kept"],
      [`${SCRIPTS}/fair-acquire.lua`, "21:not-dropped", "if not is_new and not fair.is_kept"],
      [`${SCRIPTS}/fair-acquire.lua`, "5:call-dropped", "keep_queue(fair, now_ms)"],
      [`${SCRIPTS}/fair-acquire.lua`, "16:not-dropped", "if is_new or not timeout_ms"],
    ],
  ),
  ...alike("a test sees it", "test/unit/fair-acquire.test.ts: of a lock that somebody has neither", [
    [`${SCRIPTS}/fair-acquire.lua`, "7:call-dropped", 'redis.call("LREM", fair.queue'],
  ]),
  ...alike("a test sees it", "test/unit/fair-acquire.test.ts: is offered to the JVM that is next", [
    [`${SCRIPTS}/fair-acquire.lua`, "57:and-to-or", 'return { "queued", ttl_of'],
    [`${SCRIPTS}/fair-acquire.lua`, "95:or-to-and", 'return { "queued", ttl_of'],
    [`${SCRIPTS}/fair-acquire.lua`, "50:or-to-and", 'return { "busy", grace_ms'],
  ]),
  ...alike("a test sees it", "test/unit/fair-acquire.test.ts: are none taken when one is not to be had", [
    [`${SCRIPTS}/fair-acquire.lua`, "23:or-to-and", "blocked = blocked or answer"],
    [`${SCRIPTS}/fair-acquire.lua`, "40:or-to-and", "blocked = blocked or answer"],
    [`${SCRIPTS}/fair-acquire.lua`, "6:not-dropped", "if not answer and blocked"],
  ]),
  ...alike("a test sees it", "test/unit/fair-acquire.test.ts: are all taken when they are wanted together", [
    [`${SCRIPTS}/fair-acquire.lua`, "33:~=-to-==", "blocked = blocked or answer"],
    [`${SCRIPTS}/fair-acquire.lua`, "43:not-dropped", "blocked = blocked or answer"],
  ]),
  ...alike(
    "a test sees it",
    "test/unit/fair-lost-keys.test.ts: the score of one who has no place goes when somebody who waits gives a sign of life",
    [
      [`${SCRIPTS}/fair-refresh.lua`, "*", "stale[#stale + 1] = scores[i]"],
      [`${SCRIPTS}/fair-refresh.lua`, "5:call-dropped", 'redis.call("ZREM", fair.timeouts'],
      [`${SCRIPTS}/fair-refresh.lua`, "*", "return #raised > 0"],
      [`${SCRIPTS}/fair-refresh.lua`, "25:or-to-and", "if (#there < #waiters or"],
      [`${SCRIPTS}/fair-refresh.lua`, "28:not-dropped", "if (#there < #waiters or"],
      [`${SCRIPTS}/fair-refresh.lua`, "47:not-dropped", "if (#there < #waiters or"],
      [`${SCRIPTS}/fair-refresh.lua`, "5:call-dropped", "mend(fair)"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/unit/fair-lost-keys.test.ts: one whose score is gone has it again though that of another of its client had to be raised",
    [
      [`${SCRIPTS}/fair-refresh.lua`, "5:call-dropped", 'redis.call("ZADD", fair.timeouts, timeout_ms'],
      [`${SCRIPTS}/fair-refresh.lua`, "14:<-to->=", "if (#there < #waiters or"],
    ],
  ),
  ...alike("a test sees it", "test/unit/fair-refresh.test.ts: mends the place of one whose scores are lost", [
    [`${SCRIPTS}/fair-refresh.lua`, "28:not-dropped", "fair.has_signs_of_life ="],
    [`${SCRIPTS}/fair-refresh.lua`, "7:call-dropped", "mark_alive(fair, there)"],
  ]),
  ...alike(
    "a test sees it",
    "test/unit/fair-refresh.test.ts: raises the scores of those who wait when they fall low",
    [
      [`${SCRIPTS}/include/fair-keys.lua`, "21:<-to->=", "return timeout_ms < now_ms"],
      [`${SCRIPTS}/fair-refresh.lua`, "*", "raised[#raised + 1] = timeout_ms"],
      [`${SCRIPTS}/fair-refresh.lua`, "*", "raised[#raised + 1] = waiters[i]"],
      [`${SCRIPTS}/fair-refresh.lua`, "5:call-dropped", 'redis.call("ZADD", fair.timeouts, unpack'],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/unit/fair-lost-keys.test.ts: that score goes also when the one who asks has lost its place itself",
    [[`${SCRIPTS}/fair-refresh.lua`, "*", "if #there > 0 then"]],
  ),
  ...alike("a test sees it", "test/unit/fair-refresh.test.ts: passes on a lock that has fallen free", [
    [`${SCRIPTS}/fair-refresh.lua`, "5:call-dropped", "pass_on(fair, now_ms, times"],
  ]),
  ...alike("a test sees it", "test/unit/fair-refresh.test.ts: tells each who waits what has become of it", [
    [`${SCRIPTS}/fair-refresh.lua`, "*", 'answers[i] = { "queued",'],
  ]),
  ...alike(
    "a test sees it",
    "test/unit/fair-release.test.ts: of a JVM keeps its place without a score, and test/unit/fair-release.test.ts: gives the lock to the next one of ours",
    [[`${SCRIPTS}/fair-release.lua`, "5:call-dropped", "pass_on(fair, now_ms, times)"]],
  ),
  ...alike("a test sees it", "test/unit/fair-batches.test.ts: a lock that nobody waits for is freed once", [
    [`${SCRIPTS}/fair-release.lua`, "5:call-dropped", "lock_changed(fair)"],
  ]),
  ...alike(
    "a test sees it",
    "test/unit/fair-lost-keys.test.ts: nothing stays of one who frees the lock and of whom a score is left in a queue",
    [
      [`${SCRIPTS}/fair-release.lua`, "25:or-to-and", "if found.timeout_ms or found.alive_ms"],
      [`${SCRIPTS}/fair-release.lua`, "7:call-dropped", "leave(fair, holder, found"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/unit/fair-lost-keys.test.ts: nothing stays of one who frees the lock and of whom a sign of life is left in a queue",
    [[`${SCRIPTS}/fair-release.lua`, "43:or-to-and", "if found.timeout_ms or found.alive_ms"]],
  ),
  ...alike(
    "a test sees it",
    "test/unit/fair-batches.test.ts: each release counts down from the one before it",
    [[`${SCRIPTS}/fair-release.lua`, "3:call-dropped", "lock_changed(fair)"]],
  ),
  ...alike("a test sees it", "test/unit/fair-release.test.ts: is not given back from another count", [
    [`${SCRIPTS}/fair-release.lua`, "52:+-to--", "replies[i + 1] = release"],
  ]),
  ...alike(
    "a test sees it",
    "test/unit/fair-acquire.test.ts: takes off the JVMs behind the one who enters what it had added to their scores",
    [
      [`${SCRIPTS}/include/fair-keys.lua`, "63:or-to-and", "return tonumber(redis.call"],
      [`${SCRIPTS}/include/fair-keys.lua`, "6:not-dropped", "if not other_ms then"],
      [`${SCRIPTS}/include/fair-keys.lua`, "*", "local timeout_ms = tonumber"],
      [`${SCRIPTS}/include/fair-keys.lua`, "*", "lowered[i], lowered[i +"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/unit/fair-acquire.test.ts: gives one who comes behind a JVM a score that outlives what the JVM takes off when it leaves",
    [[`${SCRIPTS}/include/fair-keys.lua`, "75:or-to-and", 'local top = read(fair, "ZRANGE"']],
  ),
  ...alike(
    "a test sees it",
    "test/unit/fair-release.test.ts: a key that is no sorted set is told and not touched",
    [[`${SCRIPTS}/include/fair-keys.lua`, "80:or-to-and", "local alive_ms = read(fair"]],
  ),
  ...alike(
    "a test sees it",
    "test/unit/fair-lost-keys.test.ts: nothing stays of one who frees the lock and of whom only the place in the queue is left",
    [
      [`${SCRIPTS}/include/fair-keys.lua`, "24:==-to-~=", "found.place = head == holder"],
      [`${SCRIPTS}/include/fair-keys.lua`, "40:or-to-and", "found.place = head == holder"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/unit/fair-lost-keys.test.ts: all of ours at the head get a sign of life together",
    [
      [`${SCRIPTS}/include/fair-keys.lua`, "3:call-dropped", 'redis.call("ZADD", fair.alive'],
      [`${SCRIPTS}/include/fair-queue.lua`, "30:not-dropped", "if is_ours(heads[i]) and"],
      [`${SCRIPTS}/include/fair-queue.lua`, "8:not-dropped", "if not alive_ms then"],
    ],
  ),
  ...alike("a test sees it", "test/unit/fair-release.test.ts: is the first that lives", [
    [`${SCRIPTS}/include/fair-queue.lua`, "3:call-dropped", 'redis.call("ZREM", fair.alive, unpack'],
    [`${SCRIPTS}/include/fair-queue.lua`, "20:and-to-or", "if is_ours(head) and fair.head_alive_ms"],
    [`${SCRIPTS}/include/fair-queue.lua`, "76:>-to-<=", "if is_ours(head) and fair.head_alive_ms"],
    [`${SCRIPTS}/include/fair-queue.lua`, "15:==-to-~=", "if #heads == 0 then"],
  ]),
  ...alike("a test sees it", "test/unit/fair-release.test.ts: gives the lock to the next one of ours", [
    [`${SCRIPTS}/include/fair-queue.lua`, "5:call-dropped", 'publish(fair.channel .. ":" .. client_id, thr'],
  ]),
  ...alike(
    "a test sees it",
    "test/unit/fair-lost-keys.test.ts: all of ours at the head get a sign of life together",
    [
      [`${SCRIPTS}/include/fair-queue.lua`, "26:and-to-or", "if is_ours(heads[i]) and"],
      [`${SCRIPTS}/include/fair-queue.lua`, "39:>-to-<=", "if is_ours(head) and times.grant_ms"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/unit/fair-release.test.ts: tells a JVM that is next to come, and gives it nothing",
    [
      [`${SCRIPTS}/include/fair-queue.lua`, "6:not-dropped", "if not timeout_ms then"],
      [`${SCRIPTS}/include/fair-queue.lua`, "21:and-to-or", "return timeout_ms and tonumber"],
      [`${SCRIPTS}/include/fair-queue.lua`, "63:<=-to->", "return timeout_ms and tonumber"],
      [`${SCRIPTS}/include/fair-queue.lua`, "43:and-to-or", "if is_ours(head) and fair.head_alive_ms"],
      [`${SCRIPTS}/include/fair-queue.lua`, "20:and-to-or", "if is_ours(head) and times.grant_ms"],
    ],
  ),
  ...alike("a test sees it", "test/unit/fair-release.test.ts: of a JVM keeps its place without a score", [
    [`${SCRIPTS}/include/fair-queue.lua`, "5:call-dropped", 'redis.pcall("ZADD", fair.timeouts'],
  ]),
  ...alike(
    "a test sees it",
    "test/unit/fair-release.test.ts: brings the JVMs behind the one who gets it nearer",
    [[`${SCRIPTS}/include/fair-queue.lua`, "36:not-dropped", "local is_before_jvm = second"]],
  ),
  ...alike("a test sees it", "test/unit/fair-lost-keys.test.ts: one that is only told to come", [
    [`${SCRIPTS}/include/fair-queue.lua`, "39:>-to->=", "if is_ours(head) and times.grant_ms"],
  ]),
];
