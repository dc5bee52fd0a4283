import type { RawReply } from "../protocol/script-call.js";
import type { Driver, PubSubFamily, Ticket } from "./driver.js";
import type { ScriptSender } from "./known-scripts.js";
import type { ConnectionEvents, PubSubConnection } from "./own/connection.js";
import type { MasterCalls } from "./own/master-calls.js";
import type { Slots } from "./own/slots.js";

/**
 * What an adapter makes of one client of its Redis library: a port that sends scripts, reports on the client's connections, and opens
 * connections of our own with the client's options. `ScriptDriver` makes a driver from a port. A client may lack the abilities behind
 * members with a `?`.
 */
export interface ClientPort extends ScriptSender, Pick<Driver, "traits" | "resets" | "outage" | "placeOf"> {
  /**
   * Why nothing can be sent: the client is not connected yet, or has ended and its owner has to connect it. Undefined while commands can be
   * sent.
   */
  readonly notOpen: string | undefined;
  /** As {@link Driver.lookForMoves}. Not called any more after `close`. */
  readonly lookForMoves?: () => Promise<void>;
  /**
   * Settles when the client is connected to the right server; undefined while it is connected there. The driver looks at this before it
   * sends a script.
   */
  readonly reached?: () => Promise<void> | undefined;
  /** Settles when the driver knows to which server it must open its own connections; undefined once it knows. */
  readonly met?: () => Promise<unknown> | undefined;
  /** The servers of a cluster by slot, if the client knows them. The driver then does not need the client's `placeOf`. */
  readonly slots?: Slots;
  /**
   * Sends commands without keys, one after the other, to each master of a cluster that the client knows, and sends nothing more once the
   * ticket is given up. Rejects when one of the masters rejects. The driver needs it in a cluster only.
   */
  everywhere?(commands: readonly (readonly string[])[], ticket: Ticket): Promise<readonly MasterAnswers[]>;
  /** Turns a rejection of the client into a {@link ServerReplyError}, if the server has answered with an error. */
  readonly toError: (failure: unknown) => unknown;
  /** The pause before the next connection, after this many failures in a row; undefined if no connection may be opened. */
  retryDelayMs(failures: number): number | undefined;
  /**
   * Opens a connection of our own. An error is reported as the end of the connection.
   * @param server in a cluster, the server that has the slot; "" for any server
   * @param family which messages the connection may have to listen to
   */
  open(server: string, family: PubSubFamily, events: ConnectionEvents): PubSubConnection;
  /** Runs scripts and waits for replicas on connections of our own. Undefined if these connections cannot send commands. */
  readonly calls?: MasterCalls;
  /** Detaches from the client. The driver closes its own connections first. Called once. */
  close(): Promise<void>;
}

/** The answers of one master of a cluster to some commands, in their order. */
export interface MasterAnswers {
  /** "host:port". */
  readonly server: string;
  readonly replies: readonly RawReply[];
}

/** The callbacks by which a client informs its driver. */
export interface ClientEvents {
  /**
   * A connection was lost: the connection to this server, or any connection if no server is named. The next connection may lead to a server
   * that does not know the same scripts.
   */
  onLost(server?: string): void;
  /** Some keys have moved. `placeOf` already names their new places. */
  onMoved(): void;
  /** The client now speaks to another server, to which our own connections must go as well. */
  onReplaced(): void;
}
