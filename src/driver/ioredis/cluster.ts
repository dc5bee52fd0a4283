import { hashSlot } from "../../protocol/hash-slot.js";
import type { RawReply, ScriptCall } from "../../protocol/script-call.js";
import { inRootContext } from "../../root-context.js";
import {
  type ChannelListener,
  type Driver,
  DriverClosedError,
  type DriverTraits,
  type PubSubFamily,
  type ReplicaDemand,
  type ReplicatedReply,
  type Ticket,
  type Unsubscribe,
} from "../driver.js";
import { SlotMoves } from "../moves.js";
import { addressOf } from "../own/masters.js";
import { ClusterConnections } from "../own/own-connections.js";
import { clusterName, type IoredisCluster, type IoredisNode, type IoredisOwnClient } from "./client.js";
import { connectLazy, openMaster, openPubSub } from "./connections.js";
import { fromIoredis } from "./errors.js";
import { IoredisScripts } from "./scripts.js";
import { delayOf } from "./server.js";

const ENDED = "the ioredis cluster client has ended, by quit(), disconnect() or its clusterRetryStrategy";

/** A cluster. ioredis knows who has which slot, follows redirections and sends again what a lost connection has rejected. */
export class IoredisClusterDriver implements Driver {
  readonly traits: DriverTraits;
  readonly #cluster: IoredisCluster;
  readonly #scripts: IoredisScripts;
  readonly #own: ClusterConnections;
  readonly #moves = new SlotMoves();
  /** The nodes whose connections are looked at, and what ends that. */
  readonly #watched = new Map<IoredisNode, () => void>();
  /** Settles when the nodes are known; undefined while nobody waits for that. */
  #meeting: Promise<void> | undefined;
  #endMeeting: () => void = () => undefined;
  #resets = 0;
  #outage: Error | undefined;
  #closed = false;

  constructor(cluster: IoredisCluster) {
    this.traits = { server: clusterName(cluster), topology: "cluster", sharded: true };
    this.#cluster = cluster;
    this.#scripts = new IoredisScripts(cluster);
    this.#own = new ClusterConnections({
      masterOf: (key) => this.#masterOf(key),
      refresh: () => this.#refresh(),
      retryDelayMs: (failures) => delayOf(cluster.options.clusterRetryStrategy?.(failures)),
      toError: fromIoredis,
      listen: (events) => openPubSub(this.#anyNode, "classic", events),
      listenTo: (master, events) => openPubSub(this.#node(master), "sharded", events),
      reach: (master, events) => openMaster(this.#node(master), events),
    });
    for (const node of cluster.nodes("all")) this.#watch(node);
    cluster.on("+node", this.#watch);
    cluster.on("-node", this.#unwatch);
    cluster.on("node error", this.#onNodeError);
    cluster.on("ready", this.#onReady);
    cluster.on("end", this.#onEnd);
    cluster.on("refresh", this.#onRefresh);
    this.#onRefresh();
  }

  get resets(): number {
    return this.#resets;
  }

  get outage(): Error | undefined {
    return this.#outage;
  }

  placeOf(key: string): string {
    return this.#masterOf(key) ?? "";
  }

  onMoved(moved: () => void): () => void {
    return this.#moves.add(moved);
  }

  /** ioredis would open a connection for each look, and so is made to look only where there is something to see. */
  async lookForMoves(): Promise<void> {
    const nodes = this.#cluster.nodes("master").filter(({ status }) => status === "ready");
    const news = await this.#moves.ask(nodes, (node) => node.call("CLUSTER", "SLOTS"));
    if (news && !this.#closed) await this.#refresh();
  }

  async run(call: ScriptCall, ticket: Ticket): Promise<RawReply> {
    this.#assertOpen();
    connectLazy(this.#cluster);
    const place = this.placeOf(call.keys[0] ?? "");
    // The first command to a node connects it, for longer than this call lasts.
    return inRootContext(() => this.#scripts.run(call, ticket, place));
  }

  async runReplicated(call: ScriptCall, ticket: Ticket, demand: ReplicaDemand): Promise<ReplicatedReply> {
    await this.#met();
    if (ticket.givenUp) throw new Error("the call was given up before it was sent");
    return this.#own.run(call, ticket, demand);
  }

  async subscribe(channel: string, listener: ChannelListener, family?: PubSubFamily): Promise<Unsubscribe> {
    await this.#met();
    return this.#own.subscribe(channel, listener, family);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#scripts.close();
    this.#cluster.off("+node", this.#watch);
    this.#cluster.off("-node", this.#unwatch);
    this.#cluster.off("node error", this.#onNodeError);
    this.#cluster.off("ready", this.#onReady);
    this.#cluster.off("end", this.#onEnd);
    this.#cluster.off("refresh", this.#onRefresh);
    for (const unwatch of this.#watched.values()) unwatch();
    this.#watched.clear();
    this.#settleMeeting();
    await this.#own.close();
  }

  /** Resolves once the nodes are known. */
  async #met(): Promise<void> {
    this.#assertOpen();
    if (this.#cluster.status === "ready") return;
    connectLazy(this.#cluster);
    this.#meeting ??= inRootContext(
      () =>
        new Promise<void>((resolve) => {
          this.#endMeeting = resolve;
        }),
    );
    await this.#meeting;
    this.#assertOpen();
  }

  #settleMeeting(): void {
    this.#meeting = undefined;
    this.#endMeeting();
  }

  /** A client that has ended may be connected again by its owner. */
  #assertOpen(): void {
    if (this.#closed) throw new DriverClosedError();
    if (this.#cluster.status === "end") throw new DriverClosedError(ENDED);
  }

  #masterOf(key: string): string | undefined {
    return this.#cluster.slots[hashSlot(key)]?.[0];
  }

  #refresh(): Promise<void> {
    return new Promise((resolve) => inRootContext(() => this.#cluster.refreshSlotsCache(() => resolve())));
  }

  /** Messages of `PUBLISH` reach every node. */
  readonly #anyNode = (options: object): IoredisOwnClient => {
    const masters = this.#cluster.nodes("master");
    const node = masters[Math.floor(Math.random() * masters.length)];
    if (node === undefined) throw new Error("no node of the cluster is known yet");
    return node.duplicate(options);
  };

  /** A node that is not known yet is reached as the others are. */
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
      this.#outage = undefined;
    };
    const onClose = () => {
      this.#scripts.forget(`${node.options.host}:${node.options.port}`);
      // What was under way on it is sent again, be it to another node.
      if (ready) this.#resets += 1;
      ready = false;
    };
    node.on("ready", onReady);
    node.on("close", onClose);
    this.#watched.set(node, () => {
      node.off("ready", onReady);
      node.off("close", onClose);
      // It is about to close, with whatever is under way on it.
      onClose();
    });
  };

  readonly #unwatch = (node: IoredisNode) => {
    this.#watched.get(node)?.();
    this.#watched.delete(node);
  };

  readonly #onNodeError = (error: Error) => {
    this.#outage = error;
  };

  readonly #onReady = () => {
    this.#outage = undefined;
    this.#settleMeeting();
  };

  /** ioredis has asked who has which slot: after a redirection, or as somebody wanted to know. */
  readonly #onRefresh = () => this.#moves.look((slot) => this.#cluster.slots[slot]?.[0]);

  readonly #onEnd = () => {
    this.#scripts.rejectUnanswered(new Error(ENDED));
    this.#settleMeeting();
  };
}
