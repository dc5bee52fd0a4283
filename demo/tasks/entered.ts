import type { Lease } from "holdfast";
import { machineMs } from "../machine-time.js";
import type { Note } from "./task.js";

/** The note of somebody who has just entered. */
export function entered(lease: Lease): Note {
  const { holder, holdCount } = lease;
  // The time first: what comes in between makes the end look earlier than it is, never later.
  return { what: "entered", holder, holdCount, trustedUntilMs: machineMs() + lease.remainingMs() };
}
