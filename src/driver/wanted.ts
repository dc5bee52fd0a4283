import type { Ticket } from "./driver.js";

/** Throws if the caller does not wait any more: from now on, sending commands for the call is of no use. */
export function assertWanted({ givenUp }: Ticket): void {
  if (givenUp) throw new Error("the call was given up before it was sent");
}
