import { types } from "node:util";
import type { RawReply } from "../protocol/script-call.js";
import type { MasterAnswers } from "./client-port.js";
import { DriverClosedError, ServerReplyError, type Ticket } from "./driver.js";

/** A master, and how to send it the commands. */
export interface AskedMaster {
  readonly server: string;
  ask(): Promise<readonly RawReply[]>;
}

/**
 * Asks all masters at once. `ticket.silent` has the masters that have not answered yet. Rejects with the first failure. An error of the
 * server itself is passed on unchanged; any other failure gets the server's name.
 */
export function askEach(
  masters: readonly AskedMaster[],
  ticket: Ticket,
  toError: (failure: unknown) => unknown,
): Promise<readonly MasterAnswers[]> {
  const silent = new Set(masters.map(({ server }) => server));
  ticket.silent = silent;
  const answersOf = async ({ server, ask }: AskedMaster): Promise<MasterAnswers> => {
    try {
      const replies = await ask();
      silent.delete(server);
      return { server, replies };
    } catch (failure) {
      throw named(server, toError(failure));
    }
  };
  return Promise.all(masters.map(answersOf));
}

function named(server: string, error: unknown): unknown {
  if (error instanceof ServerReplyError || error instanceof DriverClosedError) return error;
  const why = types.isNativeError(error) ? error.message : String(error);
  return new Error(`${server}: ${why}`, { cause: error });
}
