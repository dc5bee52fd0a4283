import type { RawReply, ScriptCall } from "../../../src/protocol/script-call.js";
import type { SimServer } from "../world/sim-server.js";

/** Watches what one name is promised, besides what is promised of every lease. */
export interface Watch {
  /** A script is about to run that may concern it. */
  starts(server: SimServer, call: ScriptCall): void;
  /** It has published a message. @param heard how many listen to the channel */
  published?(channel: string, message: string, heard: number): void;
  /** It has run. @param by the process that has sent it */
  ran(server: SimServer, call: ScriptCall, by: string, answer: RawReply | Error): void;
  /** Some time has passed. */
  glance(): void;
  /** Every task is done, every lease has ended, and every client is closed. */
  end(): void;
}
