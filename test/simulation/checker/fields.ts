import { FIRST_OWN_THREAD_ID } from "../../../src/options.js";
import type { Member } from "../workload/member.js";

/** The id of a client, and that of one of its threads. */
const FIELD = /^[0-9a-f]{8}-[0-9a-f-]{27}:\d+/;

/** Whether a text is the field of a holdfast client in the hash or queue of a lock. */
export function isField(text: string): boolean {
  return FIELD.test(text);
}

/** The id of the client that has a field. */
export function clientOf(field: string): string {
  return field.slice(0, field.indexOf(":"));
}

/** Whether a lock is given to a client that has not taken it yet. */
export function isOfGiven(field: string): boolean {
  return /:next(?::write)?$/.test(field);
}

/** Whether the caller has chosen the number of the thread: then the next stay may have the same field. */
export function isChosen(field: string): boolean {
  return Number.parseInt(field.slice(field.indexOf(":") + 1), 10) < FIRST_OWN_THREAD_ID;
}

/** Whether a process lives, goes on, and has not been closed. */
export function isWell({ process, isClosing }: Member): boolean {
  return !process.isDead && !process.gate.isShut && !isClosing;
}
