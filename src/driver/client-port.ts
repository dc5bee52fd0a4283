import type { RawReply } from "../protocol/script-call.js";
import type { Driver, PubSubFamily, Ticket } from "./driver.js";
import type { ScriptSender } from "./known-scripts.js";
import type { ConnectionEvents, PubSubConnection } from "./own/connection.js";
import type { MasterCalls } from "./own/master-calls.js";
import type { Slots } from "./own/slots.js";

/**
 * What an adapter gives of one client of its Redis library: how to send scripts with it, what it tells of its connections, and how to
 * open connections of our own like it. `ScriptDriver` makes a driver of it. Members with a `?` are for clients with that ability.
 */
export interface ClientPort extends ScriptSender, Pick<Driver, "traits" | "resets" | "outage" | "placeOf"> {
  /** Why nothing can be sent: the client is not connected yet, or has ended, until its owner connects it. Undefined while it can. */
  readonly notOpen: string | undefined;
  /** As {@link Driver.lookForMoves}. Not called any more after `close`. */
  readonly lookForMoves?: () => Promise<void>;
  /** Settles when the client leads to the right server; undefined while it does. Asked before each script. */
  readonly reached?: () => Promise<void> | undefined;
  /** Settles when it is known where connections of our own are to lead; undefined once it is. */
  readonly met?: () => Promise<unknown> | undefined;
  /** The servers of a cluster by slot, where the client tells them. The driver then needs no `placeOf` of the client. */
  readonly slots?: Slots;
  /**
   * Sends commands without keys, one after the other, to each master of a cluster that the client knows, and nothing more once the ticket
   * is given up. Rejects when one of them does. The driver needs it in a cluster only.
   */
  everywhere?(commands: readonly (readonly string[])[], ticket: Ticket): Promise<readonly MasterAnswers[]>;
  /** Turns a rejection of the client into a {@link ServerReplyError}, where the server has answered with an error. */
  readonly toError: (failure: unknown) => unknown;
  /** The pause before the next connection, after so many that failed in a row; undefined where none is to be opened. */
  retryDelayMs(failures: number): number | undefined;
  /**
   * Opens a connection of our own; an error is told as its end.
   * @param server the one of a cluster that has the slot; "" for any
   * @param family which messages it may be asked to listen to
   */
  open(server: string, family: PubSubFamily, events: ConnectionEvents): PubSubConnection;
  /** Runs scripts and waits for replicas on connections of our own. Undefined where these cannot send commands. */
  readonly calls?: MasterCalls;
  /** Lets go of the client, after what listens with it was closed. Called once. */
  close(): Promise<void>;
}

/** What one master of a cluster has answered to some commands, in their order. */
export interface MasterAnswers {
  /** "host:port". */
  readonly server: string;
  readonly replies: readonly RawReply[];
}

/** What a client tells the driver that is made of it. */
export interface ClientEvents {
  /** The connection to a server was lost, or to any: the next server there need not know the same scripts. */
  onLost(server?: string): void;
  /** Some keys have another place than before, which `placeOf` names by now. */
  onMoved(): void;
  /** The one server that the client speaks to is another one: connections of our own go there. */
  onReplaced(): void;
}
