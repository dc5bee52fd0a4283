import {
  type ChannelListener,
  type Driver,
  DriverClosedError,
  type DriverTraits,
  type ReplicaDemand,
  type ReplicatedReply,
  type Ticket,
  type Unsubscribe,
} from "../../../src/driver/driver.js";
import { Moves } from "../../../src/driver/moves.js";
import { ReplicatedCalls } from "../../../src/driver/own/replicated-calls.js";
import type { RawReply, ScriptCall } from "../../../src/protocol/script-call.js";
import type { CommandLink } from "./command-link.js";
import type { ConnectParts } from "./fleet.js";
import type { MessageLink } from "./message-link.js";
import type { Reliances } from "./reliance.js";
import { ScriptBook, ScriptLink } from "./script-link.js";
import { runOn } from "./sim-driver.js";
import type { SimServer } from "./sim-server.js";

/** What the Sentinels say. */
export interface Word {
  readonly master: SimServer;
  readonly isFailingOver: boolean;
}

interface SentinelParts {
  /** What they say at the moment. */
  readonly word: () => Word;
  readonly commands: CommandLink;
  readonly messages: MessageLink;
  /** Is told what replicas this process knows of. */
  readonly reliances: Reliances;
}

/** After so long a connection is there again, when the client itself has ended the one before. */
const RECONNECT_US = 2_000;

/** The adapter of a run for a master that Sentinels name: it goes where they say, as soon as it hears of it. */
export class SentinelDriver implements Driver {
  readonly traits: DriverTraits = { server: "sentinel", topology: "sentinel" };
  readonly #connect: ConnectParts;
  readonly #parts: SentinelParts;
  readonly #moves = new Moves();
  readonly #calls: ReplicatedCalls;
  readonly #scripts = new ScriptBook();
  #master: SimServer;
  #opened = 0;
  #isClosed = false;

  constructor(connect: ConnectParts, parts: SentinelParts) {
    this.#connect = connect;
    this.#parts = parts;
    this.#master = parts.word().master;
    const { name, process } = connect;
    this.#calls = new ReplicatedCalls({
      clock: process.clock,
      toError: (error) => error,
      confirm: () => this.#confirm(),
      open: (events) => {
        this.#opened += 1;
        const link = `${name}-wait${this.#opened}`;
        const scripts = this.#scripts;
        return new ScriptLink(
          connect,
          { name: link, server: this.#master, scripts, messages: parts.messages },
          events,
        );
      },
    });
  }

  get resets(): number {
    return this.#parts.commands.resets;
  }

  get outage(): Error | undefined {
    return this.#parts.commands.outage;
  }

  placeOf(): string {
    return this.#master.name;
  }

  onMoved(moved: () => void): () => void {
    return this.#moves.add(moved);
  }

  async lookForMoves(): Promise<void> {
    await this.#ask();
  }

  /** A Sentinel has named a master. */
  hear(master: SimServer): void {
    if (this.#isClosed || master === this.#master) return;
    this.#master = master;
    this.#parts.reliances.heard(this.#connect.name);
    this.#connect.history.add(this.#connect.name, `hears that ${master.name} is the master`);
    if (this.#parts.commands.server !== master) this.#parts.commands.leave(RECONNECT_US);
    this.#calls.move();
    this.#parts.messages.move();
    this.#moves.tell();
  }

  run(call: ScriptCall, ticket: Ticket): Promise<RawReply> {
    if (this.#isClosed) return Promise.reject(new DriverClosedError());
    return runOn(this.#parts.commands, call, ticket, this.#connect.name);
  }

  async runReplicated(call: ScriptCall, ticket: Ticket, demand: ReplicaDemand): Promise<ReplicatedReply> {
    if (this.#isClosed) throw new DriverClosedError();
    this.#scripts.add(call);
    const answer = await this.#calls.run(call, ticket, demand);
    const { acknowledged, wanted } = answer;
    const { name } = this.#connect;
    const { reliances } = this.#parts;
    if (demand.replicas !== 0) reliances.counted(name, wanted);
    // They are counted each five seconds: one that has connected since then is not waited for.
    const isStale = wanted < this.#master.replicas.size;
    if (demand.replicas !== 0 && (acknowledged < wanted || wanted === 0 || isStale)) reliances.short(name);
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

  /** A question to the Sentinels, and the way back. */
  #ask(): Promise<Word> {
    const { time, process, plan } = this.#connect;
    const wayUs = plan.distance.leastUs;
    return new Promise((resolve) => {
      time.at(process.nowUs + wayUs, () => {
        const word = this.#parts.word();
        time.after(wayUs, () =>
          process.gate.pass(() => {
            this.hear(word.master);
            resolve(word);
          }),
        );
      });
    });
  }

  async #confirm(): Promise<void> {
    const { isFailingOver } = await this.#ask();
    if (isFailingOver) throw new Error("the Sentinels are about to make another server the master");
  }
}
