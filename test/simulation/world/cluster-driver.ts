import {
  type ChannelListener,
  type Driver,
  DriverClosedError,
  type DriverTraits,
  type MasterReply,
  type ReplicaDemand,
  type ReplicatedReply,
  ServerReplyError,
  type Ticket,
  type Unsubscribe,
} from "../../../src/driver/driver.js";
import { Moves } from "../../../src/driver/moves.js";
import { MasterCalls } from "../../../src/driver/own/master-calls.js";
import { Slots } from "../../../src/driver/own/slots.js";
import { hashSlot } from "../../../src/protocol/hash-slot.js";
import type { RawReply, ScriptCall } from "../../../src/protocol/script-call.js";
import type { ClusterTopology } from "./cluster.js";
import { CommandLink } from "./command-link.js";
import type { ConnectParts } from "./fleet.js";
import type { MessageLink } from "./message-link.js";
import { ScriptBook, ScriptLink } from "./script-link.js";
import type { SimServer } from "./sim-server.js";
import type { SlotMap } from "./slot-map.js";

interface ClusterParts {
  readonly cluster: ClusterTopology;
  readonly messages: MessageLink;
  /** Replicas were short of what a call wanted, or there were none. */
  readonly short: () => void;
}

/** As many redirections as ioredis follows. */
const MOST_REDIRECTS = 16;

/** The adapter of a run for a cluster: it knows who had which slot, and follows those who know better. */
export class ClusterDriver implements Driver {
  readonly traits: DriverTraits = { server: "cluster", topology: "cluster" };
  readonly #connect: ConnectParts;
  readonly #parts: ClusterParts;
  readonly #moves = new Moves();
  readonly #calls: MasterCalls;
  readonly #scripts = new ScriptBook();
  readonly #links = new Map<SimServer, CommandLink>();
  #map: SlotMap;
  #opened = 0;
  #isClosed = false;

  constructor(connect: ConnectParts, parts: ClusterParts) {
    this.#connect = connect;
    this.#parts = parts;
    this.#map = parts.cluster.map;
    const { name, process } = connect;
    const { cluster, messages } = parts;
    this.#calls = new MasterCalls({
      clock: process.clock,
      toError: (error) => error,
      slots: new Slots({ serverOf: (key) => this.placeOf(key), refresh: () => this.#refresh() }),
      open: (master, _, events) => {
        this.#opened += 1;
        const link = `${name}-wait${this.#opened}`;
        const run = (server: SimServer, call: ScriptCall, withText: boolean, asking: boolean) =>
          cluster.run(server, call, { by: name, withText, asking });
        const options = { name: link, server: cluster.find(master), scripts: this.#scripts, messages, run };
        return new ScriptLink(connect, options, events);
      },
    });
  }

  get resets(): number {
    return [...this.#links.values()].reduce((sum, { resets }) => sum + resets, 0);
  }

  get outage(): Error | undefined {
    return [...this.#links.values()].find(({ outage }) => outage !== undefined)?.outage;
  }

  placeOf(key: string): string {
    return this.#map.ownerOf(hashSlot(key)).name;
  }

  onMoved(moved: () => void): () => void {
    return this.#moves.add(moved);
  }

  /** A node tells by itself who has which slot, as clients ask now and then. */
  hear(): void {
    const { cluster } = this.#parts;
    this.#connect.process.gate.pass(() => this.#learn(cluster.map));
  }

  async lookForMoves(): Promise<void> {
    await this.#refresh();
  }

  async run(call: ScriptCall, ticket: Ticket): Promise<RawReply> {
    const slot = hashSlot(call.keys[0] ?? "");
    let server = this.#map.ownerOf(slot);
    let asking = false;
    let withText = false;
    for (let redirects = 0; ; redirects += 1) {
      if (this.#isClosed) throw new DriverClosedError();
      try {
        return await this.#runAt(server, call, { withText, asking });
      } catch (error) {
        const { code = "", message = "" } = error instanceof ServerReplyError ? error : {};
        if (ticket.givenUp || redirects === MOST_REDIRECTS) throw error;
        const [, , address = ""] = message.split(" ");
        if (code === "NOSCRIPT") withText = true;
        else if (code === "MOVED") {
          server = this.#parts.cluster.find(address);
          asking = false;
          this.#learn(this.#map.with(slot, server));
          void this.#refresh();
        } else if (code === "ASK") {
          server = this.#parts.cluster.find(address);
          asking = true;
        } else {
          if (!(error instanceof ServerReplyError)) void this.#refresh();
          throw error;
        }
      }
    }
  }

  async everywhere(call: ScriptCall): Promise<readonly MasterReply[]> {
    if (this.#isClosed) throw new DriverClosedError();
    const ask = async (server: SimServer) => ({
      server: server.name,
      reply: await this.#runAt(server, call, { withText: true, asking: false }),
    });
    return Promise.all(this.#map.masters.map(ask));
  }

  async runReplicated(call: ScriptCall, ticket: Ticket, demand: ReplicaDemand): Promise<ReplicatedReply> {
    if (this.#isClosed) throw new DriverClosedError();
    this.#scripts.add(call);
    const answer = await this.#calls.run(call, ticket, demand);
    const isShort = answer.acknowledged < answer.wanted || answer.wanted === 0;
    if (demand.replicas !== 0 && isShort) this.#parts.short();
    return answer;
  }

  subscribe(channel: string, listener: ChannelListener): Promise<Unsubscribe> {
    return this.#parts.messages.subscribe(channel, listener);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#parts.messages.end();
    await this.#calls.close();
  }

  #runAt(
    server: SimServer,
    call: ScriptCall,
    how: { readonly withText: boolean; readonly asking: boolean },
  ): Promise<RawReply> {
    const { name: by } = this.#connect;
    const { cluster } = this.#parts;
    return new Promise((answered, failed) => {
      const act = (there: SimServer) => cluster.run(there, call, { by, ...how });
      this.#link(server).send({ keys: call.keys, act, answered, failed });
    });
  }

  #link(server: SimServer): CommandLink {
    const known = this.#links.get(server);
    if (known !== undefined) return known;
    const { name: process, lines, chooser, plan, ...parts } = this.#connect;
    const name = `${process}-${server.name}`;
    const { distance, rules } = plan;
    const delays = chooser.stream(`${name}.delays`);
    const commands = new CommandLink({ ...parts, name, server: () => server, distance, delays, rules });
    this.#links.set(server, commands);
    lines.push({ commands, messages: this.#parts.messages, server: () => server });
    return commands;
  }

  #learn(map: SlotMap): void {
    const isNew = !map.equals(this.#map);
    this.#map = map;
    if (isNew) this.#moves.tell();
  }

  /** `CLUSTER SLOTS` at some node, and the way back. */
  #refresh(): Promise<void> {
    const { time, process, plan } = this.#connect;
    const wayUs = plan.distance.leastUs;
    return new Promise((resolve) => {
      time.at(process.nowUs + wayUs, () => {
        const { map } = this.#parts.cluster;
        time.after(wayUs, () =>
          process.gate.pass(() => {
            this.#learn(map);
            resolve();
          }),
        );
      });
    });
  }
}
