import { alike, type Survivor } from "../survivor.js";

const SCRIPTS = "protocol/scripts";

/** Mutants of the scripts of plain and read-write locks that were planted in the sources, whereupon the test that is named was red. */
export const seenInLockScripts: readonly Survivor[] = [
  ...alike(
    "a test sees it",
    "test/locks/hand-off-distance.test.ts: a waiter whose way to the server takes longer",
    [[`${SCRIPTS}/include/publish.lua`, "*", 'return type(heard) == "number"']],
  ),
  ...alike(
    "a test sees it",
    "test/kinds/read-write-lock.test.ts: it and a plain lock of its name exclude each other",
    [[`${SCRIPTS}/include/any-holder.lua`, "44:or-to-and", 'return fields[1] == "mode"']],
  ),
  ...alike("a test sees it", "test/unit/lock-scripts.test.ts: finds each of those who may have them", [
    [`${SCRIPTS}/lock-confirm.lua`, "*", "for at = arg_at + 2, arg_at"],
    [`${SCRIPTS}/lock-confirm.lua`, "46:==-to-~=", 'if redis.call("HEXISTS",'],
    [`${SCRIPTS}/lock-confirm.lua`, "*", "local holder = answer.ok"],
    [`${SCRIPTS}/lock-confirm.lua`, "6:not-dropped", "if not holder then"],
    [`${SCRIPTS}/lock-confirm.lua`, "3:call-dropped", 'redis.call("HDEL", lock,'],
    [`${SCRIPTS}/lock-confirm.lua`, "*", "while key_at <= #KEYS do"],
    [`${SCRIPTS}/lock-confirm.lua`, "*", "local holds, count = tonumber"],
    [`${SCRIPTS}/lock-confirm.lua`, "*", "replies[#replies + 1] ="],
    [`${SCRIPTS}/lock-confirm.lua`, "*", "key_at = key_at + 1 + holds"],
  ]),
  ...alike("a test sees it", "test/unit/lock-scripts.test.ts: asks for the key of each hold of a reader", [
    [`${SCRIPTS}/lock-confirm.lua`, "47:==-to-~=", 'if redis.call("EXISTS",'],
  ]),
  ...alike(
    "a test sees it",
    "test/synchronizers/repeats-write.test.ts: what asks whether a lock or permits are held still writes, too",
    [[`${SCRIPTS}/lock-confirm.lua`, "3:call-dropped", 'redis.call("HSET", lock,']],
  ),
  ...alike("a test sees it", "test/unit/lock-scripts.test.ts: are all taken, or none", [
    [`${SCRIPTS}/lock-acquire.lua`, "47:or-to-and", "local token_kind = token"],
    [`${SCRIPTS}/lock-acquire.lua`, "39:or-to-and", "for i = 1, is_together"],
    [`${SCRIPTS}/lock-acquire.lua`, "21:or-to-and", "blocked = blocked or look"],
    [`${SCRIPTS}/lock-acquire.lua`, "6:not-dropped", "if not answer and blocked"],
    [`${SCRIPTS}/lock-acquire.lua`, "17:==-to-~=", "if count_before =="],
  ]),
  ...alike("a test sees it", "test/unit/lock-scripts.test.ts: is entered by one who had it twice", [
    [`${SCRIPTS}/lock-acquire.lua`, "74:*", "elseif tonumber(count) ~="],
  ]),
  ...alike("a test sees it", "test/unit/lock-scripts.test.ts: never ends", [
    [`${SCRIPTS}/lock-acquire.lua`, "5:call-dropped", 'redis.call("PERSIST", token'],
  ]),
  ...alike(
    "a test sees it",
    "test/unit/lock-scripts.test.ts: is not entered once more by one who has lost it",
    [[`${SCRIPTS}/lock-acquire.lua`, "24:and-to-or", "if count_before =="]],
  ),
  ...alike("a test sees it", "test/unit/lock-scripts.test.ts: of the last hold tells how many heard of it", [
    [`${SCRIPTS}/lock-release.lua`, "17:>-to-<=", "if not_after_ms > 0 then"],
    [`${SCRIPTS}/lock-release.lua`, "17:>-to-<=", "if now_ms > not_after_ms"],
  ]),
  ...alike(
    "a test sees it",
    "test/unit/lock-scripts.test.ts: of an inner hold leaves the others as long as they last",
    [[`${SCRIPTS}/lock-release.lua`, "15:~=-to-==", 'if kind ~= "none" and kind']],
  ),
  ...alike(
    "a test sees it",
    "test/unit/lock-scripts.test.ts: answers for each lock by itself where one is lost",
    [
      [`${SCRIPTS}/lock-renew.lua`, "29:and-to-or", "are_renewed = are_renewed"],
      [`${SCRIPTS}/lock-renew.lua`, "50:or-to-and", "return are_renewed and {"],
    ],
  ),
  ...alike("a test sees it", "test/unit/lock-scripts.test.ts: is told when it is late", [
    [`${SCRIPTS}/lock-succeed.lua`, "11:~=-to-==", 'if kind ~= "none" and kind'],
  ]),
  ...alike(
    "a test sees it",
    "test/unit/lock-scripts.test.ts: lets the next one have the lock with its own lease",
    [
      [`${SCRIPTS}/lock-succeed.lua`, "5:call-dropped", "raise_ttl(lock, lease_ms"],
      [`${SCRIPTS}/lock-succeed.lua`, "7:call-dropped", 'redis.call("PEXPIRE", lock'],
    ],
  ),
  ...alike("a test sees it", "test/unit/lock-scripts.test.ts: tells those who wait", [
    [`${SCRIPTS}/lock-force-unlock.lua`, "3:call-dropped", 'publish(channel, "0")'],
  ]),
  ...alike(
    "a test sees it",
    "test/unit/read-write-scripts.test.ts: is made for one that is refused and waits",
    [
      [`${SCRIPTS}/write-acquire.lua`, "14:==-to-~=", "if waiting == holder then"],
      [`${SCRIPTS}/write-acquire.lua`, "13:and-to-or", "if answer and answer[1]"],
      [`${SCRIPTS}/write-acquire.lua`, "27:==-to-~=", "if answer and answer[1]"],
      [`${SCRIPTS}/write-acquire.lua`, "49:~=-to-==", "if answer and answer[1]"],
      [`${SCRIPTS}/write-acquire.lua`, "73:==-to-~=", "if answer and answer[1]"],
      [`${SCRIPTS}/read-acquire.lua`, "23:and-to-or", "local writer = fair and"],
      [`${SCRIPTS}/read-acquire.lua`, "17:and-to-or", 'return writer and { "busy"'],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/kinds/read-write-fair.test.ts: keeps a writer's mark alive for as long as it waits",
    [
      [`${SCRIPTS}/write-acquire.lua`, "49:*", "answers[i + 1] = answer("],
      [`${SCRIPTS}/write-acquire.lua`, "5:call-dropped", 'redis.pcall("SET", mark,'],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/unit/read-write-scripts.test.ts: locks that are wanted together are all taken, or none",
    [
      [`${SCRIPTS}/write-acquire.lua`, "23:or-to-and", "blocked = blocked or obstacle_at"],
      [`${SCRIPTS}/write-acquire.lua`, "6:not-dropped", "if not answer and blocked"],
    ],
  ),
  ...alike("a test sees it", "test/unit/read-write-scripts.test.ts: is not made for any other", [
    [`${SCRIPTS}/write-acquire.lua`, "37:and-to-or", "if answer and answer[1]"],
    [`${SCRIPTS}/write-acquire.lua`, "56:and-to-or", "if answer and answer[1]"],
  ]),
  ...alike(
    "a test sees it",
    "test/kinds/read-write-fair.test.ts: lets readers in at once when the waiting writer is cancelled",
    [
      [`${SCRIPTS}/write-release.lua`, "30:==-to-~=", 'if redis.call("GET", mark'],
      [`${SCRIPTS}/write-release.lua`, "5:call-dropped", 'redis.call("DEL", mark)'],
      [`${SCRIPTS}/write-release.lua`, "5:call-dropped", 'publish(channel, "1")'],
      [`${SCRIPTS}/write-release.lua`, "5:call-dropped", "unmark(mark, holder, channel"],
      [`${SCRIPTS}/write-release.lua`, "*", "local lock, mark, at = KEYS[3"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/unit/read-write-scripts.test.ts: keeps new readers out of a fair lock, and out of no other",
    [
      [`${SCRIPTS}/read-acquire.lua`, "81:==-to-~=", "local not_after_ms, together"],
      [`${SCRIPTS}/read-acquire.lua`, "66:or-to-and", 'return writer and { "busy"'],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/unit/read-write-scripts.test.ts: locks that are wanted together are all taken, or none",
    [
      [`${SCRIPTS}/read-acquire.lua`, "23:or-to-and", "blocked = blocked or obstacle_at"],
      [`${SCRIPTS}/read-acquire.lua`, "6:not-dropped", "if not answer and blocked"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/kinds/read-write-leases.test.ts: is not lost by a renewal between the tries of that release",
    [
      [`${SCRIPTS}/read-release.lua`, "45:==-to-~=", 'if redis.call("PEXPIRE",'],
      [`${SCRIPTS}/read-release.lua`, "7:call-dropped", 'redis.pcall("SET", hold,'],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/unit/read-write-scripts.test.ts: lives on for as long as the read that stays",
    [
      [`${SCRIPTS}/read-release.lua`, "16:>-to-<=", "if longest > 0 then"],
      [`${SCRIPTS}/read-release.lua`, "7:call-dropped", "raise_ttl(lock, string.format"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/kinds/read-write-leases.test.ts: with a long lease is lost within a third of fleetWatchdogMs when its own key is gone",
    [[`${SCRIPTS}/read-renew.lua`, "29:~=-to-==", 'if ARGV[arg_at + 2 + i] ~= "0" and']],
  ),
  ...alike(
    "a test sees it",
    "test/kinds/read-write-leases.test.ts: that is alone with a dead reader's lets a writer in when that one's lease is over",
    [[`${SCRIPTS}/read-renew.lua`, "29:~=-to-==", 'if ARGV[arg_at + 2 + i] ~= "0" then']],
  ),
  ...alike(
    "a test sees it",
    "test/kinds/read-write-lock.test.ts: it and a plain lock of its name exclude each other, and say who has it",
    [[`${SCRIPTS}/include/any-holder.lua`, "==-to-~=", 'return fields[1] == "mode"']],
  ),
];
