import type { Instant } from "./instant.js";
import type { Shortfall } from "./replication.js";
import type { ServerClock } from "./server-clocks.js";

/** A reply, with what is known about its transport. */
export interface Exchanged<Reply> {
  readonly reply: Reply;
  /** The time just before the sending of the command that was answered. */
  readonly sentAt: Instant;
  /** As in `Answered` of protocol/define-script.ts. */
  readonly serverMs: number;
  /** The clock that `serverMs` was read on; undefined if the answer had no time, or if the answering server is not known. */
  readonly clock: ServerClock | undefined;
  /** How many times the connection had been lost when the command was sent. */
  readonly resets: number;
  /** True when the server may have run the command more than once. */
  readonly repeated: boolean;
  /** Set if fewer replicas than required have what the command wrote. */
  readonly shortfall?: Shortfall | undefined;
}
