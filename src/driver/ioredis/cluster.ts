import { hashSlot } from "../../protocol/hash-slot.js";
import type { RawReply, ScriptCall } from "../../protocol/script-call.js";
import { inRootContext } from "../../root-context.js";
import { addressOf } from "../addresses.js";
import { askEach } from "../ask-each.js";
import type { ClientEvents, ClientPort, MasterAnswers } from "../client-port.js";
import type { DriverTraits, PubSubFamily, Ticket } from "../driver.js";
import type { ScriptCommand } from "../known-scripts.js";
import { SlotMoves } from "../moves.js";
import type { ConnectionEvents, OwnConnection } from "../own/connection.js";
import { MasterCalls, type Masters } from "../own/master-calls.js";
import { type KnownSlots, Slots } from "../own/slots.js";
import { listen, unlisten } from "../shared-listeners.js";
import { clusterName, type IoredisCluster, type IoredisNode, type IoredisOwnClient } from "./client.js";
import { connectLazy, delayOf, openConnection } from "./connections.js";
import { fromIoredis } from "./errors.js";
import { Unanswered } from "./unanswered.js";

const ENDED = "the ioredis cluster client has ended, by quit(), disconnect() or its clusterRetryStrategy";

/** A cluster. ioredis knows the servers of all slots, follows redirections and resends commands that a lost connection has rejected. */
export class IoredisClusterPort implements ClientPort, Masters, KnownSlots {
  readonly traits: DriverTraits;
  readonly slots: Slots = new Slots(this);
  readonly calls: MasterCalls = new MasterCalls(this);
  readonly toError: ClientPort["toError"] = fromIoredis;
  resets = 0;
  outage: Error | undefined;
  readonly #cluster: IoredisCluster;
  readonly #events: ClientEvents;
  readonly #unanswered = new Unanswered();
  readonly #moves: SlotMoves;
  /** The nodes with listeners on their connections, each with a function that removes its listeners. */
  readonly #watched = new Map<IoredisNode, () => void>();
  /** Settles when the nodes are known; undefined while no call waits for the nodes. */
  #meeting: Promise<void> | undefined;
  #endMeeting: () => void = () => undefined;

  constructor(cluster: IoredisCluster, events: ClientEvents) {
    this.traits = { server: clusterName(cluster), topology: "cluster", sharded: true };
    this.#cluster = cluster;
    this.#events = events;
    this.#moves = new SlotMoves(events.onMoved);
    for (const node of cluster.nodes("all")) this.#watch(node);
    listen(cluster, "+node", this.#watch);
    listen(cluster, "-node", this.#unwatch);
    listen(cluster, "node error", this.#onNodeError);
    listen(cluster, "ready", this.#onReady);
    listen(cluster, "end", this.#onEnd);
    listen(cluster, "refresh", this.#onRefresh);
    this.#onRefresh();
  }

  get notOpen(): string | undefined {
    return this.#cluster.status === "end" ? ENDED : undefined;
  }

  serverOf(key: string): string | undefined {
    return this.#cluster.slots[hashSlot(key)]?.[0];
  }

  refresh(): Promise<void> {
    return new Promise((resolve) => inRootContext(() => this.#cluster.refreshSlotsCache(() => resolve())));
  }

  /** A refresh by ioredis opens a connection, so it runs only if the answer of a connected node shows that slots have changed. */
  readonly lookForMoves = async (): Promise<void> => {
    const nodes = this.#cluster.nodes("master").filter(({ status }) => status === "ready");
    if (await this.#moves.ask(nodes, (node) => node.call("CLUSTER", "SLOTS"))) await this.refresh();
  };

  /** Resolves once the nodes are known. */
  readonly met = (): Promise<void> | undefined => {
    if (this.#cluster.status === "ready") return undefined;
    connectLazy(this.#cluster);
    this.#meeting ??= inRootContext(
      () =>
        new Promise<void>((resolve) => {
          this.#endMeeting = resolve;
        }),
    );
    return this.#meeting;
  };

  send(command: ScriptCommand, call: ScriptCall): Promise<RawReply> {
    connectLazy(this.#cluster);
    // The first command to a node opens its connection, which outlives this call: hence the root context.
    return inRootContext(() => this.#unanswered.send(this.#cluster, command, call));
  }

  everywhere(commands: readonly (readonly string[])[], ticket: Ticket): Promise<readonly MasterAnswers[]> {
    const masters = this.#cluster.nodes("master").map((node) => ({
      server: `${node.options.host}:${node.options.port}`,
      ask: () =>
        Promise.all(
          commands.map(([name = "", ...args]) =>
            this.#unanswered.wait(node.call(name, ...args) as Promise<RawReply>),
          ),
        ),
    }));
    return inRootContext(() => askEach(masters, ticket, fromIoredis));
  }

  retryDelayMs(failures: number): number | undefined {
    return delayOf(this.#cluster.options.clusterRetryStrategy?.(failures));
  }

  open(server: string, family: PubSubFamily, events: ConnectionEvents): OwnConnection {
    // Messages of `PUBLISH` reach every node.
    return openConnection(server === "" ? this.#anyNode : this.#node(server), family, events);
  }

  async close(): Promise<void> {
    unlisten(this.#cluster, "+node", this.#watch);
    unlisten(this.#cluster, "-node", this.#unwatch);
    unlisten(this.#cluster, "node error", this.#onNodeError);
    unlisten(this.#cluster, "ready", this.#onReady);
    unlisten(this.#cluster, "end", this.#onEnd);
    unlisten(this.#cluster, "refresh", this.#onRefresh);
    for (const unwatch of this.#watched.values()) unwatch();
    this.#watched.clear();
    this.#settleMeeting();
  }

  #settleMeeting(): void {
    this.#meeting = undefined;
    this.#endMeeting();
  }

  readonly #anyNode = (options: object): IoredisOwnClient => {
    const masters = this.#cluster.nodes("master");
    const node = masters[Math.floor(Math.random() * masters.length)];
    if (node === undefined) throw new Error("no node of the cluster is known yet");
    return node.duplicate(options);
  };

  /** A node that ioredis does not know yet gets the options of any other node. */
  #node(address: string): (options: object) => IoredisOwnClient {
    const nodes = this.#cluster.nodes("all");
    const node = nodes.find(({ options: { host, port } }) => `${host}:${port}` === address);
    if (node !== undefined) return (options) => node.duplicate(options);
    return (options) => this.#anyNode({ ...options, ...addressOf(address, this.#cluster.options.natMap) });
  }

  readonly #watch = (node: IoredisNode) => {
    let ready = node.status === "ready";
    const onReady = () => {
      ready = true;
      this.outage = undefined;
    };
    const onClose = () => {
      this.#events.onLost(`${node.options.host}:${node.options.port}`);
      // ioredis sends the commands under way again, perhaps to another node.
      if (ready) this.resets += 1;
      ready = false;
    };
    listen(node, "ready", onReady);
    listen(node, "close", onClose);
    this.#watched.set(node, () => {
      unlisten(node, "ready", onReady);
      unlisten(node, "close", onClose);
      // The connection is about to close: its commands under way count as lost.
      onClose();
    });
  };

  readonly #unwatch = (node: IoredisNode) => {
    this.#watched.get(node)?.();
    this.#watched.delete(node);
  };

  readonly #onNodeError = (error: Error) => {
    this.outage = error;
  };

  readonly #onReady = () => {
    this.outage = undefined;
    this.#settleMeeting();
  };

  /** ioredis has refreshed its slots: after a redirection, at an interval of its own, or because `refresh` has asked it to. */
  readonly #onRefresh = () => this.#moves.look((slot) => this.#cluster.slots[slot]?.[0]);

  readonly #onEnd = () => {
    this.#unanswered.reject(new Error(ENDED));
    this.#settleMeeting();
  };
}
