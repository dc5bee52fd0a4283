import type { Ticket } from "./driver.js";

/** Throws where the caller does not wait any more: what would be sent for the call from now on is of no use. */
export function assertWanted({ givenUp }: Ticket): void {
  if (givenUp) throw new Error("the call was given up before it was sent");
}
