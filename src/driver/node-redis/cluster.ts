import { hashSlot } from "../../protocol/hash-slot.js";
import type { RawReply, ScriptCall } from "../../protocol/script-call.js";
import { inRootContext } from "../../root-context.js";
import { addressOf } from "../addresses.js";
import { askEach } from "../ask-each.js";
import type { ClientEvents, ClientPort, MasterAnswers } from "../client-port.js";
import type { DriverTraits, PubSubFamily, Ticket } from "../driver.js";
import { type ScriptCommand, wordsOf } from "../known-scripts.js";
import { SlotMoves } from "../moves.js";
import type { ConnectionEvents, OwnConnection } from "../own/connection.js";
import { MasterCalls, type Masters } from "../own/master-calls.js";
import { type KnownSlots, Slots } from "../own/slots.js";
import { listen, unlisten } from "../shared-listeners.js";
import { assertWanted } from "../wanted.js";
import { clusterName, type NodeRedisClient, type NodeRedisCluster } from "./client.js";
import {
  AS_THEY_ARE,
  type Duplicate,
  duplicateOnce,
  NodeRedisConnection,
  retryDelayMs,
} from "./connections.js";
import { fromNodeRedis } from "./errors.js";
import { ConnectionLosses } from "./losses.js";
import { optionsOf, rediscover } from "./unofficial.js";

const NOT_OPEN = "the node-redis cluster client is not open: it was not connected yet, or it was closed";

/**
 * A cluster. Node-redis knows the servers of all slots and follows redirections: a server that redirects a command does not run it.
 * Node-redis does not resend commands that a lost connection has rejected.
 */
export class NodeRedisClusterPort implements ClientPort, Masters, KnownSlots {
  readonly traits: DriverTraits;
  readonly slots: Slots = new Slots(this);
  readonly calls: MasterCalls = new MasterCalls(this);
  readonly toError: ClientPort["toError"] = fromNodeRedis;
  outage: Error | undefined;
  readonly #cluster: NodeRedisCluster;
  readonly #losses: ConnectionLosses;
  readonly #moves: SlotMoves;
  /** The slots of node-redis at the last look. */
  #slots: NodeRedisCluster["slots"] | undefined;

  constructor(cluster: NodeRedisCluster, events: ClientEvents) {
    this.traits = { server: clusterName(cluster), topology: "cluster", sharded: true };
    this.#cluster = cluster;
    this.#losses = new ConnectionLosses(events.onLost);
    this.#moves = new SlotMoves(events.onMoved);
    this.#look();
    listen(cluster, "node-ready", this.#look);
    listen(cluster, "node-error", this.#onNodeError);
    listen(cluster, "node-disconnect", this.#onNodeEnd);
  }

  get resets(): number {
    return this.#losses.count;
  }

  get notOpen(): string | undefined {
    return this.#cluster.isOpen ? undefined : NOT_OPEN;
  }

  serverOf(key: string): string | undefined {
    return this.#cluster.slots[hashSlot(key)]?.master.address;
  }

  async refresh(): Promise<void> {
    if (!this.#cluster.isOpen) return;
    const look = async () => rediscover(this.#cluster, await this.#whoAnswers());
    await inRootContext(look).catch(toldByItsErrors);
    this.#lookAtSlots();
  }

  /** A refresh by node-redis opens a connection, so it runs only if the answer of a connected node shows that slots have changed. */
  readonly lookForMoves = async (): Promise<void> => {
    const ready = this.#clients().filter(({ isReady }) => isReady);
    const news = await this.#moves.ask(ready, (node) => node.sendCommand(["CLUSTER", "SLOTS"], AS_THEY_ARE));
    if (news) await this.refresh();
  };

  async send(command: ScriptCommand, call: ScriptCall): Promise<RawReply> {
    try {
      const words = wordsOf(command, call);
      // Node-redis may connect for this call, and the connection outlives the call.
      const reply = await inRootContext(() =>
        this.#cluster.sendCommand(call.keys[0], false, words, { ...AS_THEY_ARE }),
      );
      this.outage = undefined;
      return reply as RawReply;
    } finally {
      this.#lookAtSlots();
    }
  }

  everywhere(commands: readonly (readonly string[])[], ticket: Ticket): Promise<readonly MasterAnswers[]> {
    const masters = this.#cluster.masters.map((master) => ({
      server: master.address,
      ask: async () => {
        const client = await this.#cluster.nodeClient(master);
        assertWanted(ticket);
        const answers = await Promise.all(commands.map((words) => client.sendCommand(words, AS_THEY_ARE)));
        return answers as readonly RawReply[];
      },
    }));
    // Node-redis may connect for this call, and the connection outlives the call.
    return inRootContext(() => askEach(masters, ticket, fromNodeRedis));
  }

  retryDelayMs(failures: number): number | undefined {
    return retryDelayMs(optionsOf(this.#cluster).defaults?.socket?.reconnectStrategy, failures);
  }

  open(server: string, family: PubSubFamily, events: ConnectionEvents): OwnConnection {
    // Messages of `PUBLISH` reach every node.
    return new NodeRedisConnection(server === "" ? this.#anyNode : this.#node(server), family, events);
  }

  async close(): Promise<void> {
    unlisten(this.#cluster, "node-ready", this.#look);
    unlisten(this.#cluster, "node-error", this.#onNodeError);
    unlisten(this.#cluster, "node-disconnect", this.#onNodeEnd);
  }

  /** The first node that answers a PING. Node-redis asks a single node for the slots: if that node is the failed master, all calls wait. */
  #whoAnswers(): Promise<NodeRedisClient | undefined> {
    const ready = this.#clients().filter(({ isReady }) => isReady);
    const answers = ready.map((client) => client.sendCommand(["PING"], AS_THEY_ARE).then(() => client));
    return Promise.any(answers).catch(() => undefined);
  }

  #clients(): NodeRedisClient[] {
    const nodes = [...this.#cluster.nodeByAddress.values()];
    return nodes.flatMap(({ client }) => client ?? []);
  }

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

  /** A node without a client gets the options of any other node. */
  #node(address: string): Duplicate {
    return async () => {
      const client = this.#cluster.nodeByAddress.get(address)?.client;
      if (client !== undefined) return duplicateOnce(client);
      const place = addressOf(address, optionsOf(this.#cluster).nodeAddressMap);
      return duplicateOnce(await this.#anyClient(), place);
    };
  }

  /** Node-redis emits no event when it has asked for the slots, but keeps each answer in a new list. */
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
    if (clients.every(({ isReady }) => isReady)) this.outage = undefined;
  };

  /** Node-redis keeps trying to reach a failed master, and would look for its successor much later or never. */
  readonly #onNodeError = (error: Error) => {
    this.outage = error;
    this.#look();
    void this.refresh();
  };

  /** Node-redis has rejected the commands under way on this node. */
  readonly #onNodeEnd = () => this.#losses.add();
}

/** Node-redis emits errors on the cluster. */
function toldByItsErrors(): void {}
