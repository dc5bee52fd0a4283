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
import { KnownScripts } from "../known-scripts.js";
import { SlotMoves } from "../moves.js";
import { addressOf } from "../own/masters.js";
import { ClusterConnections } from "../own/own-connections.js";
import { clusterName, type NodeRedisClient, type NodeRedisCluster } from "./client.js";
import {
  AS_THEY_ARE,
  type Duplicate,
  duplicateOnce,
  openMaster,
  openPubSub,
  retryDelayMs,
} from "./connections.js";
import { fromNodeRedis } from "./errors.js";
import { ConnectionLosses } from "./losses.js";

const NOT_OPEN = "the node-redis cluster client is not open: it was not connected yet, or it was closed";

/**
 * A cluster. Node-redis knows who has which slot and follows redirections, of which the server has carried out nothing.
 * What a lost connection has rejected it does not send again.
 */
export class NodeRedisClusterDriver implements Driver {
  readonly traits: DriverTraits;
  readonly #cluster: NodeRedisCluster;
  readonly #known = new KnownScripts();
  /** The next server of a slot need not know the scripts that the one before knew. */
  readonly #losses = new ConnectionLosses(() => this.#known.forget());
  readonly #own: ClusterConnections;
  readonly #moves = new SlotMoves();
  /** Who had which slot when that was last looked at. */
  #slots: NodeRedisCluster["slots"] | undefined;
  #outage: Error | undefined;
  #closed = false;

  constructor(cluster: NodeRedisCluster) {
    this.traits = { server: clusterName(cluster), topology: "cluster", sharded: true };
    this.#cluster = cluster;
    this.#own = new ClusterConnections({
      masterOf: (key) => this.#masterOf(key),
      refresh: () => this.#refresh(),
      retryDelayMs: (failures) =>
        retryDelayMs(cluster._options.defaults?.socket?.reconnectStrategy, failures),
      toError: fromNodeRedis,
      listen: (events) => openPubSub(this.#anyNode, "classic", events),
      listenTo: (master, events) => openPubSub(this.#node(master), "sharded", events),
      reach: (master, events) => openMaster(this.#node(master), events),
    });
    this.#look();
    cluster.on("node-ready", this.#look);
    cluster.on("node-error", this.#onNodeError);
    cluster.on("node-disconnect", this.#onNodeEnd);
  }

  get resets(): number {
    return this.#losses.count;
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

  /** Node-redis would open a connection for each look, and so is made to look only where there is something to see. */
  async lookForMoves(): Promise<void> {
    const ready = this.#clients().filter(({ isReady }) => isReady);
    const news = await this.#moves.ask(ready, (node) => node.sendCommand(["CLUSTER", "SLOTS"], AS_THEY_ARE));
    if (news && !this.#closed) await this.#refresh();
  }

  async run(call: ScriptCall, ticket: Ticket): Promise<RawReply> {
    this.#assertOpen();
    const commands = {
      eval: ({ script }: ScriptCall) => this.#send("EVAL", script.lua, call),
      evalsha: ({ script }: ScriptCall) => this.#send("EVALSHA", script.sha1, call),
    };
    try {
      const reply = await this.#known.run(call, ticket, commands, this.placeOf(call.keys[0] ?? ""));
      this.#outage = undefined;
      return reply;
    } catch (error) {
      throw fromNodeRedis(error);
    } finally {
      this.#lookAtSlots();
    }
  }

  async runReplicated(call: ScriptCall, ticket: Ticket, demand: ReplicaDemand): Promise<ReplicatedReply> {
    this.#assertOpen();
    return this.#own.run(call, ticket, demand);
  }

  async subscribe(channel: string, listener: ChannelListener, family?: PubSubFamily): Promise<Unsubscribe> {
    this.#assertOpen();
    return this.#own.subscribe(channel, listener, family);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#known.close();
    this.#cluster.off("node-ready", this.#look);
    this.#cluster.off("node-error", this.#onNodeError);
    this.#cluster.off("node-disconnect", this.#onNodeEnd);
    await this.#own.close();
  }

  /** A client that was closed may be connected again by its owner. */
  #assertOpen(): void {
    if (this.#closed) throw new DriverClosedError();
    if (!this.#cluster.isOpen) throw new DriverClosedError(NOT_OPEN);
  }

  #send(command: string, text: string, { keys, args }: ScriptCall): Promise<RawReply> {
    const words = [command, text, String(keys.length), ...keys, ...args];
    // It may connect for it, and that connection outlives the call.
    const answer = inRootContext(() => this.#cluster.sendCommand(keys[0], false, words, { ...AS_THEY_ARE }));
    return answer as Promise<RawReply>;
  }

  #masterOf(key: string): string | undefined {
    return this.#cluster.slots[hashSlot(key)]?.master.address;
  }

  async #refresh(): Promise<void> {
    if (!this.#cluster.isOpen) return;
    const look = async () => this.#cluster._slots.rediscover(await this.#whoAnswers());
    await inRootContext(look).catch(toldByItsErrors);
    this.#lookAtSlots();
  }

  /** Node-redis asks one, and everybody waits as long as that one is silent: it may be the master that has failed. */
  #whoAnswers(): Promise<NodeRedisClient | undefined> {
    const ready = this.#clients().filter(({ isReady }) => isReady);
    const answers = ready.map((client) => client.sendCommand(["PING"], AS_THEY_ARE).then(() => client));
    return Promise.any(answers).catch(() => undefined);
  }

  #clients(): NodeRedisClient[] {
    const nodes = [...this.#cluster.nodeByAddress.values()];
    return nodes.flatMap(({ client }) => client ?? []);
  }

  /** Messages of `PUBLISH` reach every node. */
  readonly #anyNode: Duplicate = async () => duplicateOnce(await this.#anyClient());

  async #anyClient(): Promise<NodeRedisClient> {
    const clients = this.#clients();
    const ready = clients.filter(({ isReady }) => isReady);
    const likely = ready.length > 0 ? ready : clients;
    const client = likely[Math.floor(Math.random() * likely.length)];
    if (client !== undefined) return client;
    const [master] = this.#cluster.masters;
    if (master === undefined) throw new Error("no node of the cluster is known yet");
    return this.#cluster.nodeClient(master);
  }

  /** A node that has no client yet is reached as the others are. */
  #node(address: string): Duplicate {
    return async () => {
      const client = this.#cluster.nodeByAddress.get(address)?.client;
      if (client !== undefined) return duplicateOnce(client);
      const place = addressOf(address, this.#cluster._options.nodeAddressMap);
      return duplicateOnce(await this.#anyClient(), place);
    };
  }

  /** Node-redis tells nobody that it has asked who has which slot, but keeps the answer in a new list each time. */
  #lookAtSlots(): void {
    const { slots } = this.#cluster;
    if (slots === this.#slots) return;
    this.#slots = slots;
    this.#moves.look((slot) => slots[slot]?.master.address);
  }

  readonly #look = () => {
    this.#lookAtSlots();
    const clients = this.#clients();
    for (const client of clients) this.#losses.look(client);
    if (clients.every(({ isReady }) => isReady)) this.#outage = undefined;
  };

  /** Node-redis goes on trying to reach a master that has failed, and would ask who has taken its place much later or never. */
  readonly #onNodeError = (error: Error) => {
    this.#outage = error;
    this.#look();
    void this.#refresh();
  };

  /** What was under way on it was rejected. */
  readonly #onNodeEnd = () => this.#losses.add();
}

/** Node-redis emits what has failed on the cluster. */
function toldByItsErrors(): void {}
