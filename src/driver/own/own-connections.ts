import type { ScriptCall } from "../../protocol/script-call.js";
import type {
  ChannelListener,
  PubSubFamily,
  ReplicaDemand,
  ReplicatedReply,
  Ticket,
  Unsubscribe,
} from "../driver.js";
import { ClusterCalls } from "./cluster-calls.js";
import type { PubSubOptions } from "./live-connection.js";
import type { MasterEvents, MasterLink } from "./master-link.js";
import type { PubSubConnection, PubSubEvents } from "./pub-sub-connection.js";
import { ReplicatedCalls } from "./replicated-calls.js";
import { ShardedSubscriber } from "./sharded-subscriber.js";
import { Subscriber } from "./subscriber.js";

/** How an adapter opens connections to the one server that its client speaks to. */
export interface ServerOpening extends PubSubOptions {
  readonly listen: (events: PubSubEvents) => PubSubConnection;
  readonly reach: (events: MasterEvents) => MasterLink;
  /** As in `MasterOptions`. */
  readonly confirm?: () => Promise<void>;
}

/** The connections that a driver adds to its client's: one that listens, and one for calls that replicas acknowledge. */
export class ServerConnections {
  readonly #subscriber: Subscriber;
  readonly #calls: ReplicatedCalls;

  constructor(opening: ServerOpening) {
    this.#subscriber = new Subscriber(opening.listen, opening);
    this.#calls = new ReplicatedCalls({ ...opening, open: opening.reach });
  }

  /** Another server is the master. */
  move(): void {
    this.#subscriber.move();
    this.#calls.move();
  }

  async subscribe(channel: string, listener: ChannelListener, family?: PubSubFamily): Promise<Unsubscribe> {
    if (family === "sharded") throw new TypeError("sharded messages are for clusters");
    return this.#subscriber.subscribe(channel, listener);
  }

  run(call: ScriptCall, ticket: Ticket, demand: ReplicaDemand): Promise<ReplicatedReply> {
    return this.#calls.run(call, ticket, demand);
  }

  async close(): Promise<void> {
    await Promise.all([this.#subscriber.close(), this.#calls.close()]);
  }
}

/** How an adapter opens connections to the servers of a cluster. A master is named by its address, "host:port". */
export interface ClusterOpening extends PubSubOptions {
  /** The master that has the slot of a key or a sharded channel; undefined while none is known. */
  masterOf(key: string): string | undefined;
  /** Asks the cluster anew who has which slot. Never rejects. */
  refresh(): Promise<void>;
  /** To any server, which hears what is published on all of them. */
  readonly listen: (events: PubSubEvents) => PubSubConnection;
  /** For sharded messages. */
  readonly listenTo: (master: string, events: PubSubEvents) => PubSubConnection;
  readonly reach: (master: string, events: MasterEvents) => MasterLink;
}

/** The same for a cluster: one that listens to all servers, and those to masters, as they are needed. */
export class ClusterConnections {
  readonly #classic: Subscriber;
  readonly #sharded: ShardedSubscriber;
  readonly #calls: ClusterCalls;

  constructor(opening: ClusterOpening) {
    const { listenTo, reach } = opening;
    this.#classic = new Subscriber(opening.listen, opening);
    this.#sharded = new ShardedSubscriber({
      ...opening,
      opening: (master) => (events) => listenTo(master, events),
    });
    this.#calls = new ClusterCalls({ ...opening, opening: (master) => (events) => reach(master, events) });
  }

  subscribe(
    channel: string,
    listener: ChannelListener,
    family: PubSubFamily = "classic",
  ): Promise<Unsubscribe> {
    const subscriber = family === "sharded" ? this.#sharded : this.#classic;
    return subscriber.subscribe(channel, listener);
  }

  run(call: ScriptCall, ticket: Ticket, demand: ReplicaDemand): Promise<ReplicatedReply> {
    return this.#calls.run(call, ticket, demand);
  }

  async close(): Promise<void> {
    await Promise.all([this.#classic.close(), this.#sharded.close(), this.#calls.close()]);
  }
}
