import { alike, type Survivor } from "../survivor.js";

const SCRIPTS = "protocol/scripts";

/** Mutants of the scripts of semaphores and latches that were planted in the sources, whereupon the test that is named was red. */
export const seenInCountScripts: readonly Survivor[] = [
  ...alike("a test sees it", "test/synchronizers/latch.test.ts: are 1 when a count is set", [
    [`${SCRIPTS}/count-delete.lua`, "24:~=-to-==", 'if value and message ~= "" then'],
    [`${SCRIPTS}/count-delete.lua`, "5:call-dropped", "publish(channel, message"],
  ]),
  ...alike(
    "a test sees it",
    "test/synchronizers/semaphore-waiting.test.ts: a waiter outlives the semaphore that it came to",
    [
      [`${SCRIPTS}/count-try-set.lua`, "14:~=-to-==", 'if message ~= "" then'],
      [`${SCRIPTS}/count-try-set.lua`, "5:call-dropped", "publish(channel, message"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/unit/permit-scripts.test.ts: tells the others of what is there when it has none saved up any more",
    [[`${SCRIPTS}/permit-acquire.lua`, "5:call-dropped", "announce(semaphore.channel"]],
  ),
  ...alike(
    "a test sees it",
    "test/unit/permit-scripts.test.ts: by a renewal never end sooner than they did",
    [[`${SCRIPTS}/include/leased-permits.lua`, "34:or-to-and", "if (lease_end(semaphore,"]],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/permit-redis.test.ts: are told as such, and not changed: acquire",
    [[`${SCRIPTS}/include/request.lua`, "54:or-to-and", 'return found ~= "none" and']],
  ),
  ...alike(
    "a test sees it",
    "test/unit/semaphore-scripts.test.ts: is none that a double can not tell from the next",
    [[`${SCRIPTS}/include/request.lua`, "43:<-to-<=", "local exact = count and"]],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/semaphore-servers.test.ts: still takes permits back, and tells those who wait",
    [[`${SCRIPTS}/include/request.lua`, "52:and-to-or", "local exact = count and"]],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/repeats-write.test.ts: a repeat of count-try-set, which finds it done, writes as well",
    [[`${SCRIPTS}/include/request.lua`, "5:call-dropped", "even_when_full(request)"]],
  ),
  ...alike("a test sees it", "test/unit/semaphore-scripts.test.ts: is told whether there is a semaphore", [
    [`${SCRIPTS}/include/saved-permits.lua`, "35:or-to-and", "return owner, tonumber(permits"],
    [`${SCRIPTS}/semaphore-acquire.lua`, "*", "local exists = available"],
  ]),
  ...alike(
    "a test sees it",
    "test/unit/permit-scripts.test.ts: end the saving for their owner, for a second at least",
    [
      [`${SCRIPTS}/include/saved-permits.lua`, "60:or-to-and", "return owner, tonumber(permits"],
      [`${SCRIPTS}/include/saved-permits.lua`, "3:call-dropped", 'redis.pcall("SET", saved'],
      [`${SCRIPTS}/include/saved-permits.lua`, "16:~=-to-==", "return other ~= owner and"],
      [`${SCRIPTS}/include/saved-permits.lua`, "37:or-to-and", "return other ~= owner and"],
      [`${SCRIPTS}/permit-acquire.lua`, "5:call-dropped", "save_no_more(saved, owner"],
    ],
  ),
  ...alike("a test sees it", "test/unit/permit-scripts.test.ts: come with what is left", [
    [`${SCRIPTS}/include/saved-permits.lua`, "25:and-to-or", "return other ~= owner and"],
    [`${SCRIPTS}/permit-acquire.lua`, "5:call-dropped", 'redis.call("PEXPIRE", semaphore.leases'],
  ]),
  ...alike(
    "a test sees it",
    "test/synchronizers/semaphore-savings.test.ts: go to those who wait once the saving has ended",
    [[`${SCRIPTS}/include/saved-permits.lua`, "21:and-to-or", 'if save_ms ~= "0" and (not']],
  ),
  ...alike(
    "a test sees it",
    "test/unit/permit-scripts.test.ts: is told of the leases only, and not of its own saving",
    [
      [`${SCRIPTS}/include/saved-permits.lua`, "*", "write_saved(saved, owner"],
      [`${SCRIPTS}/permit-acquire.lua`, "*", 'if save_ms == "0" and save_no_more'],
      [`${SCRIPTS}/permit-acquire.lua`, "*", "local is_possible = available"],
      [`${SCRIPTS}/permit-acquire.lua`, "*", "local saving = save_up(saved"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/unit/permit-scripts.test.ts: is told when the next lease ends, or that nobody knows",
    [
      [`${SCRIPTS}/include/saved-permits.lua`, "*", "return saved_for(saved)"],
      [`${SCRIPTS}/permit-acquire.lua`, "*", "local exists = available"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/unit/semaphore-scripts.test.ts: gives back what was granted on a full server",
    [[`${SCRIPTS}/include/saved-permits.lua`, "3:call-dropped", 'redis.call("DEL", saved)']],
  ),
  ...alike(
    "a test sees it",
    "test/unit/semaphore-scripts.test.ts: of a latch opens it at 0, which is told once",
    [
      [`${SCRIPTS}/latch-count-down.lua`, "12:==-to-~=", "if count == 1 then"],
      [`${SCRIPTS}/latch-count-down.lua`, "5:call-dropped", 'publish(channel, "0")'],
    ],
  ),
  ...alike("a test sees it", "test/unit/permit-scripts.test.ts: are found by a repeat", [
    [`${SCRIPTS}/permit-acquire.lua`, "64:or-to-and", "soonest_ms = math.min(soonest_ms"],
    [`${SCRIPTS}/permit-acquire.lua`, "17:<=-to->", "if soonest_ms <= now_ms"],
  ]),
  ...alike(
    "a test sees it",
    "test/unit/permit-scripts.test.ts: tells the others of what was saved up for it",
    [[`${SCRIPTS}/permit-cancel.lua`, "*", "announce(semaphore.channel"]],
  ),
  ...alike("a test sees it", "test/unit/permit-scripts.test.ts: are left as they are", [
    [`${SCRIPTS}/permit-confirm.lua`, "16:~=-to-==", 'if answer.ok ~= "zset" or'],
    [`${SCRIPTS}/permit-confirm.lua`, "58:*", 'if answer.ok ~= "zset" or'],
    [`${SCRIPTS}/permit-confirm.lua`, "3:call-dropped", 'redis.call("ZREM", semaphore.leases, "")'],
    [`${SCRIPTS}/permit-confirm.lua`, "*", "replies[i + 1] = confirm"],
  ]),
  ...alike(
    "a test sees it",
    "test/unit/permit-scripts.test.ts: are lost when one is unknown or its lease has ended, or all are",
    [[`${SCRIPTS}/permit-confirm.lua`, "26:or-to-and", 'if answer.ok ~= "zset" or']],
  ),
  ...alike(
    "a test sees it",
    "test/synchronizers/repeats-write.test.ts: what asks whether a lock or permits are held still writes, too",
    [[`${SCRIPTS}/permit-confirm.lua`, "3:call-dropped", 'redis.call("ZADD", semaphore.leases']],
  ),
  ...alike(
    "a test sees it",
    "test/unit/permit-scripts.test.ts: give back those of others that have ended, and so does a release",
    [[`${SCRIPTS}/permit-set-lease.lua`, "3:call-dropped", "reclaim(semaphore)"]],
  ),
  ...alike("a test sees it", "test/unit/permit-scripts.test.ts: end later on a full server as well", [
    [`${SCRIPTS}/permit-renew.lua`, "3:call-dropped", 'redis.call("ZREM", semaphore.leases'],
    [`${SCRIPTS}/permit-set-lease.lua`, "3:call-dropped", "even_when_full(request)"],
  ]),
  ...alike(
    "a test sees it",
    "test/unit/semaphore-scripts.test.ts: has permits saved up, and is not told of the end of that",
    [[`${SCRIPTS}/semaphore-acquire.lua`, "*", 'if save_ms == "0" and save_no_more']],
  ),
];
