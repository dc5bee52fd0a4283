import { alike, type Survivor } from "./survivor.js";

const SCRIPTS = "protocol/scripts";

/** What a script does otherwise on its server, to the same end. */
export const inScripts: readonly Survivor[] = [
  ...alike(
    "equivalent",
    "The command before or behind it is a write as well, which a full server accepts: what adds something comes after that.",
    [[`${SCRIPTS}/permit-release.lua`, "call-dropped", "even_when_full(request)"]],
  ),
  ...alike("equivalent", "Nothing was read of the lock before it is deleted.", [
    [`${SCRIPTS}/fair-force-unlock.lua`, "call-dropped", "lock_changed(fair)"],
  ]),
  ...alike(
    "equivalent",
    "One who comes to the end of a queue changes nothing of what was read of its head.",
    [[`${SCRIPTS}/fair-acquire.lua`, "call-dropped", "queue_changed(fair)"]],
  ),
  ...alike("equivalent", "A fair lock has one holder. Of several, any is told.", [
    [`${SCRIPTS}/include/fair-keys.lua`, "and-to-or", 'if fields[i] ~= "mode" and fair.holder == ""'],
  ]),
  ...alike(
    "equivalent",
    "A writer has no keys of holds: those that are made up for it are not there. A count that is text is not in the world.",
    [[`${SCRIPTS}/include/read-write-holds.lua`, "14:and-to-or", "if count and holder"]],
  ),
  ...alike("equivalent", "The key of the next hold is not there when one enters once more.", [
    [`${SCRIPTS}/read-acquire.lua`, ">-to->=", "if count and tonumber(count) > held_count then"],
  ]),
  ...alike("only cost", "One who has no place in the queue is looked for there.", [
    [`${SCRIPTS}/fair-acquire.lua`, "54:and-to-or", "elseif found.timeout_ms or found.alive_ms"],
  ]),
  ...alike(
    "only cost",
    "One who has a score is looked for in the queue as well; in one that is not whole it is put at the end, found further ahead, and taken off again.",
    [[`${SCRIPTS}/fair-acquire.lua`, "41:or-to-and", "return timeout_ms and (is_whole(fair) or"]],
  ),
  ...alike("only cost", "Where one stands, and whether the head lives, is asked for by itself.", [
    [`${SCRIPTS}/include/fair-keys.lua`, "or-to-and", "if found.count or fair.is_free then"],
    [`${SCRIPTS}/include/fair-keys.lua`, "or-to-and", 'found.place = read(fair, "LPOS"'],
  ]),
  ...alike("only cost", "The TTLs of the queue and its scores are written once more.", [
    [`${SCRIPTS}/fair-acquire.lua`, "and-to-or", "if not is_new and not fair.is_kept then"],
  ]),
  ...alike("only cost", "A queue that is whole is read, and nothing is mended.", [
    [`${SCRIPTS}/fair-refresh.lua`, "43:and-to-or", "if (#there < #waiters or not is_raised)"],
  ]),
  ...alike("one moment", "A lease ends in that very millisecond.", [
    [`${SCRIPTS}/include/leased-permits.lua`, ">-to->=", "return ends_ms and ends_ms > now_ms"],
    [`${SCRIPTS}/permit-acquire.lua`, "<=-to-<", "if soonest_ms <= now_ms then"],
  ]),
  ...alike("one moment", "The TTL of a key that ends in that very millisecond.", [
    [`${SCRIPTS}/permit-acquire.lua`, ">-to->=", "if ttl_ms > 0 then"],
  ]),
];
