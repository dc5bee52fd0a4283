import { alike, type Survivor } from "./survivor.js";

const SCRIPTS = "protocol/scripts";

/** What shows where no schedule comes to. */
export const otherWorlds: readonly Survivor[] = [
  ...alike(
    "not in the world",
    "It shows where a key is of another type, or holds text for a number: see test/synchronizers/permit-redis.test.ts.",
    [
      [`${SCRIPTS}/include/request.lua`, "or-to-and", 'return foreign_type(key, "string") or'],
      [`${SCRIPTS}/include/request.lua`, "or-to-and", "local found = foreign or foreign_type("],
      [`${SCRIPTS}/include/leased-permits.lua`, "or-to-and", "return foreign_count(semaphore.permits) or"],
      [`${SCRIPTS}/permit-acquire.lua`, "or-to-and", "foreign_semaphore(semaphore) or foreign_type("],
      [`${SCRIPTS}/permit-cancel.lua`, "or-to-and", "or foreign_type("],
      [`${SCRIPTS}/semaphore-acquire.lua`, "or-to-and", "foreign_count(permits) or foreign_type("],
      [`${SCRIPTS}/semaphore-cancel.lua`, "or-to-and", "local foreign = foreign_count(permits) or"],
      [`${SCRIPTS}/include/fair-keys.lua`, "not-dropped", 'string.find(message, "WRONGTYPE"'],
      [`${SCRIPTS}/lock-renew.lua`, "*", 'string.find(there.err, "WRONGTYPE"'],
    ],
  ),
];
