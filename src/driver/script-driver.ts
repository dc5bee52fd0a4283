import type { RawReply, ScriptCall } from "../protocol/script-call.js";
import type { ClientEvents, ClientPort } from "./client-port.js";
import {
  type ChannelListener,
  type Driver,
  DriverClosedError,
  type DriverTraits,
  type MasterReply,
  type PubSubFamily,
  type ReplicaDemand,
  type ReplicatedReply,
  type Ticket,
  type Unsubscribe,
} from "./driver.js";
import { KnownScripts, wordsOf } from "./known-scripts.js";
import { Moves } from "./moves.js";
import type { MasterCalls } from "./own/master-calls.js";
import type { Slots } from "./own/slots.js";
import { Subscriber } from "./own/subscriber.js";
import { assertWanted } from "./wanted.js";
import { assertWhole } from "./whole-cluster.js";

const NODES = ["CLUSTER", "NODES"];

/** The driver for one client of any Redis library. It offers no more than the client's port. */
export class ScriptDriver implements Driver {
  readonly traits: DriverTraits;
  // `declare` creates no property, so the driver lacks the member if the client's port lacks it.
  declare readonly placeOf?: (key: string) => string;
  declare readonly lookForMoves?: () => Promise<void>;
  declare readonly runReplicated?: NonNullable<Driver["runReplicated"]>;
  declare readonly everywhere?: NonNullable<Driver["everywhere"]>;
  readonly #client: ClientPort;
  readonly #scripts: KnownScripts;
  readonly #moves = new Moves();
  readonly #classic: Subscriber;
  readonly #sharded: Subscriber | undefined;
  #closing: Promise<void> | undefined;

  constructor(connect: (events: ClientEvents) => ClientPort) {
    const client = connect({
      onLost: (server) => this.#scripts.forget(server),
      onMoved: () => this.#moves.tell(),
      onReplaced: () => {
        this.#classic.move();
        this.#client.calls?.move();
      },
    });
    const { traits, toError, slots, calls, lookForMoves } = client;
    this.traits = traits;
    this.#client = client;
    this.#scripts = new KnownScripts(toError);
    const subscriber = (family: PubSubFamily, slots?: Slots) =>
      new Subscriber({
        toError,
        slots,
        open: (server, events) => client.open(server, family, events),
        retryDelayMs: (failures) => client.retryDelayMs(failures),
      });
    this.#classic = subscriber("classic");
    this.#sharded = traits.sharded ? subscriber("sharded", slots) : undefined;
    if (slots !== undefined) this.placeOf = (key) => slots.serverOf(key) ?? "";
    else if (client.placeOf !== undefined) this.placeOf = (key) => client.placeOf?.(key) ?? "";
    if (calls !== undefined)
      this.runReplicated = (call, ticket, demand) => this.#runReplicated(calls, call, ticket, demand);
    if (traits.topology !== "cluster")
      this.everywhere = async (call, ticket) => [
        { server: traits.server, reply: await this.run(call, ticket) },
      ];
    else if (client.everywhere !== undefined)
      this.everywhere = (call, ticket) => this.#everywhere(call, ticket);
    if (lookForMoves !== undefined) {
      this.lookForMoves = async () => {
        if (this.#closing === undefined) await lookForMoves();
      };
    }
  }

  get resets(): number {
    return this.#client.resets;
  }

  get outage(): Error | undefined {
    return this.#client.outage;
  }

  onMoved(moved: () => void): () => void {
    return this.#moves.add(moved);
  }

  run(call: ScriptCall, ticket: Ticket): Promise<RawReply> {
    const refusal = this.#refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    const client = this.#client;
    const reached = client.reached?.();
    if (reached === undefined)
      return this.#scripts.run(call, ticket, client, client.slots?.serverOf(call.keys[0] ?? ""));
    return reached.then(() => {
      assertWanted(ticket);
      return this.run(call, ticket);
    });
  }

  async subscribe(
    channel: string,
    listener: ChannelListener,
    family: PubSubFamily = "classic",
  ): Promise<Unsubscribe> {
    this.#assertOpen();
    const subscriber = family === "sharded" ? this.#sharded : this.#classic;
    if (subscriber === undefined) throw new TypeError("sharded messages are for clusters");
    await this.#client.met?.();
    this.#assertOpen();
    return subscriber.subscribe(channel, listener);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #runReplicated(
    calls: MasterCalls,
    call: ScriptCall,
    ticket: Ticket,
    demand: ReplicaDemand,
  ): Promise<ReplicatedReply> {
    const refusal = this.#refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    const met = this.#client.met?.();
    if (met === undefined) return calls.run(call, ticket, demand);
    return met.then(() => {
      assertWanted(ticket);
      this.#assertOpen();
      return calls.run(call, ticket, demand);
    });
  }

  async #everywhere(call: ScriptCall, ticket: Ticket): Promise<readonly MasterReply[]> {
    this.#assertOpen();
    await this.#client.met?.();
    assertWanted(ticket);
    this.#assertOpen();
    try {
      // EVAL sends the script's text: if one master has forgotten the script, the others need not be asked again.
      const commands = [NODES, wordsOf("EVAL", call)];
      const answers = (await this.#client.everywhere?.(commands, ticket)) ?? [];
      if (answers.length === 0) throw new Error("no master of the cluster is known yet");
      assertWhole(answers.map(({ replies: [nodes] }) => String(nodes)));
      return answers.map(({ server, replies: [, reply = null] }) => ({ server, reply }));
    } catch (error) {
      // The master may have failed, and another server may have its slots by now.
      void this.#client.slots?.refresh();
      throw this.#client.toError(error);
    }
  }

  async #close(): Promise<void> {
    this.#scripts.close();
    await Promise.all([
      this.#classic.close(),
      this.#sharded?.close(),
      this.#client.calls?.close(),
      this.#client.close(),
    ]);
  }

  /** A client that has ended may be reconnected by its owner. */
  #refusal(): DriverClosedError | undefined {
    if (this.#closing !== undefined) return new DriverClosedError();
    const { notOpen } = this.#client;
    return notOpen === undefined ? undefined : new DriverClosedError(notOpen);
  }

  #assertOpen(): void {
    const refusal = this.#refusal();
    if (refusal !== undefined) throw refusal;
  }
}
