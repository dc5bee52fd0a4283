import type { Driver } from "./driver.js";
import type { ScriptSender } from "./known-scripts.js";
import type { MasterCalls } from "./own/master-calls.js";
import type { PubSubConnection, PubSubEvents } from "./own/pub-sub-connection.js";
import type { Servers } from "./own/redirects.js";

/**
 * What an adapter gives of one client of its Redis library: how to send scripts with it, what it tells of its connections, and how to
 * open connections of our own like it. `ScriptDriver` makes a driver of it. A server is named by its address, "host:port"; where the
 * client speaks to one only, that is "" for `serverOf`.
 */
export interface ClientPort extends Servers, ScriptSender, Pick<Driver, "traits" | "resets" | "outage"> {
  /** Why nothing can be sent: the client is not connected yet, or has ended, until its owner connects it. Undefined while it can. */
  readonly notOpen: string | undefined;
  /** As {@link Driver.placeOf}. */
  placeOf(key: string): string;
  /** As {@link Driver.lookForMoves}. Not called any more after `close`. */
  readonly lookForMoves?: () => Promise<void>;
  /** Settles when the client leads to the right server; undefined while it does. Asked before each script. */
  readonly reached?: () => Promise<void> | undefined;
  /** Settles when it is known where connections of our own are to lead; undefined once it is. */
  readonly met?: () => Promise<unknown> | undefined;
  /** Makes an error of the server of what the client rejects with, where it is one. */
  readonly toError: (failure: unknown) => unknown;
  /** The pause before the next connection, after so many that failed in a row; undefined where none is to be opened. */
  retryDelayMs(failures: number): number | undefined;
  /** Opens a connection that listens to messages of `PUBLISH`, to any server. */
  listen(events: PubSubEvents): PubSubConnection;
  /** The same for messages of `SPUBLISH`. Not there without a cluster. */
  readonly listenTo?: (server: string, events: PubSubEvents) => PubSubConnection;
  /** What runs scripts and waits for replicas. Not there where the client tells too little of its connections for that. */
  readonly calls?: MasterCalls;
  /** Lets go of the client, after what listens with it was closed. Called once. */
  close(): Promise<void>;
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
