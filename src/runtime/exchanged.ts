import type { Instant } from "./instant.js";
import type { Shortfall } from "./replication.js";
import type { ServerClock } from "./server-clocks.js";

/** A reply together with what is known about the way it took. */
export interface Exchanged<Reply> {
  readonly reply: Reply;
  /** Just before the command that was answered was sent. */
  readonly sentAt: Instant;
  /** As in `Answered` of protocol/define-script.ts. */
  readonly serverMs: number;
  /** The clock that `serverMs` was read on; undefined when the answer had no time, or it is not known which server has answered. */
  readonly clock: ServerClock | undefined;
  /** How often the connection had been lost when the command was sent. */
  readonly resets: number;
  /** True when the server may have run the command more than once. */
  readonly repeated: boolean;
  /** Set when fewer replicas have what it wrote than the client requires. */
  readonly shortfall?: Shortfall | undefined;
}
