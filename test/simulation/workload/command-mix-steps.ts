import { between, oneIn, pick } from "../draw.js";
import type { Caller } from "./caller.js";
import type { Shared } from "./family.js";
import { type LockName, openDoor } from "./lock-names.js";
import { hold } from "./mix-steps.js";

/** The id that all tasks of a process choose. */
const COMMON_ID = 1;

/** Writes and reads under one id that other tasks choose as well, now and then for as long as a call may take. */
export async function readUnderTheIdOfAWrite(caller: Caller, shared: Shared): Promise<void> {
  const { stream, member } = caller;
  for (let left = between(stream, 3, 6); left > 0; left -= 1) {
    await caller.pause(pick(stream, [0, 1, 20, 200]));
    const door = openDoor(member, shared as LockName, oneIn(stream, 3) ? "write" : "read");
    const leaseMs = pick(stream, [undefined, 300, 1_000]);
    const waitMs = oneIn(stream, 4) ? pick(stream, [100, 1_000]) : undefined;
    await hold(caller, door, { threadId: COMMON_ID, leaseMs, waitMs }, pick(stream, [1, 20, 200]));
  }
}
