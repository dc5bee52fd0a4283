/**
 * What the package loads when it is first needed, loaded before the tests: a fake clock does not wait for the disk.
 */
import "../../../src/finding/search.js";
import "../../../src/locks/force-unlock.js";
import "../../../src/locks/inspect.js";
import "../../../src/presence/fleet.js";
import "../../../src/presence/presence.js";
import "../../../src/protocol/later-count-scripts.js";
import "../../../src/synchronizers/seen-semaphore.js";
