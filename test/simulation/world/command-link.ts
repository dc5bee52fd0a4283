import { ServerReplyError } from "../../../src/driver/driver.js";
import type { RawReply } from "../../../src/protocol/script-call.js";
import type { Stream } from "../chooser/chooser.js";
import type { SimProcess } from "./sim-process.js";
import type { SimServer } from "./sim-server.js";
import type { VirtualTime } from "./virtual-time.js";
import { type Distance, Wire } from "./wire.js";

/** What a Redis client does with commands while it has no connection. */
export interface ResendRules {
  /** Whether it sends once more what was not answered when the connection was lost; else it rejects that. */
  readonly resends: boolean;
  /** Whether commands wait for the next connection; else they are rejected. */
  readonly queues: boolean;
}

/** A moment in the life of a command, at which something may befall it. */
export type Moment = "sent" | "arrived" | "answered";

/** Tells what becomes of the commands of one link. */
export interface LinkWatch {
  /** @param nth how many commands the link has brought to this moment, with this one */
  reached(link: CommandLink, moment: Moment, nth: number): void;
  /** A process hears the answer to a command, before anything follows from it. @param ranUs when the server has run it */
  heard?(process: string, keys: readonly string[], ranUs: number): void;
}

/** A command of a link. */
export interface Request {
  /** The keys that it names; none: it is about the server, and a step of whatever is asked there first. */
  readonly keys: readonly string[];
  /** Runs at the server. Throws `ServerReplyError`. */
  readonly act: (server: SimServer) => RawReply | Promise<RawReply>;
  readonly answered: (reply: RawReply) => void;
  readonly failed: (error: Error) => void;
}

/** As the link keeps it. */
interface Kept extends Request {
  /** When the process has asked for it: its client may send it later, and more than once. */
  readonly askedUs: number;
}

/** How a cut leaves what was under way. */
export interface CutTerms {
  /** How many requests still reach the server, and how many replies the process: those that are furthest. */
  readonly there: number;
  readonly back: number;
  /** When the other requests reach the server all the same, in microseconds from now; undefined: never. */
  readonly lateUs: number | undefined;
  /** When the process hears of it, and when there is a connection again, in microseconds from then. */
  readonly noticeUs: number;
  readonly reconnectUs: number;
}

interface LinkParts {
  readonly name: string;
  readonly time: VirtualTime;
  readonly process: SimProcess;
  readonly server: () => SimServer;
  readonly distance: Distance;
  readonly delays: Stream;
  readonly rules: ResendRules;
  readonly watch: LinkWatch;
  /** Called when the connection has ended, if it is the only one: no other follows it. */
  readonly ended?: () => void;
}

/** A Redis client's connection for commands, with all the connections that follow each other in it. */
export class CommandLink {
  readonly name: string;
  /** How often a connection was lost. */
  resets = 0;
  outage: Error | undefined;
  /** Told at each answer, before anything follows from it. */
  readonly whenAnswered: Set<() => void> = new Set();
  readonly #parts: LinkParts;
  #wire: Wire;
  /** At the other end. */
  #server: SimServer;
  /** What was sent and is not answered, in order. */
  #unanswered: Kept[] = [];
  /** What waits for a connection. */
  #queued: Kept[] = [];
  readonly #counts = { sent: 0, arrived: 0, answered: 0 };
  #isClosed = false;
  #wires = 0;
  #connectedUs = 0;

  constructor(parts: LinkParts) {
    this.name = parts.name;
    this.#parts = parts;
    this.#wire = this.#newWire();
    this.#server = parts.server();
  }

  /** The server at the other end of the present connection, or of the latest. */
  get server(): SimServer {
    return this.#server;
  }

  get underWay(): number {
    return this.#unanswered.length + this.#queued.length;
  }

  /** Whether something is not answered that names a key, or none. */
  isAsking(key: string): boolean {
    return [...this.#unanswered, ...this.#queued].some(({ keys }) => keys.length === 0 || keys.includes(key));
  }

  get isConnected(): boolean {
    return this.outage === undefined;
  }

  /** Since when something can be sent; Infinity: it can not. */
  get connectedUs(): number {
    return this.isConnected && !this.#wire.isCut ? this.#connectedUs : Number.POSITIVE_INFINITY;
  }

  get process(): SimProcess {
    return this.#parts.process;
  }

  send(request: Request): void {
    const kept = { ...request, askedUs: this.#parts.process.nowUs };
    if (this.outage === undefined) this.#put(kept);
    else if (this.#parts.rules.queues) this.#queued.push(kept);
    else request.failed(new Error("Stream isn't writeable and enableOfflineQueue options is false"));
  }

  /** What is on its way is late. @returns for how long from now */
  hold(way: "there" | "back", us: number): number {
    return this.#wire.hold(way, us);
  }

  /** What is on its way, in both directions. */
  get inTransit(): { readonly there: number; readonly back: number } {
    return this.#wire.underWay;
  }

  /** The connection breaks. */
  cut({ noticeUs, reconnectUs, lateUs, ...arrive }: CutTerms): void {
    const wire = this.#wire;
    if (wire.isCut || this.outage !== undefined) return;
    wire.cut(arrive, lateUs);
    const { time, process } = this.#parts;
    const noticed = () => process.gate.pass(() => this.#notice(wire, reconnectUs));
    time.after(noticeUs, noticed, { actor: process.name });
  }

  /** The client ends the connection by itself, to make another one: what it has sent arrives. */
  leave(reconnectUs: number): void {
    if (this.outage !== undefined || this.#isClosed) return;
    const wire = this.#wire;
    if (!wire.isCut) wire.cut({ there: wire.underWay.there, back: 0 });
    this.#notice(wire, reconnectUs);
  }

  /** The process is gone: what it has sent arrives. */
  end(): void {
    this.#isClosed = true;
    this.#wire.cut(this.#wire.underWay);
  }

  #notice(wire: Wire, reconnectUs: number): void {
    if (wire !== this.#wire || this.#isClosed || this.outage !== undefined) return;
    this.resets += 1;
    this.outage = new Error("Connection is closed.");
    const { rules, time, process } = this.#parts;
    if (!rules.resends) {
      for (const { failed } of this.#unanswered.splice(0)) failed(new Error("Connection is closed."));
    }
    if (!rules.queues)
      for (const { failed } of this.#queued.splice(0)) failed(new Error("Connection is closed."));
    if (this.#parts.ended !== undefined) {
      this.#isClosed = true;
      this.#parts.ended();
      return;
    }
    const connected = () => process.gate.pass(() => this.#connect());
    time.after(reconnectUs, connected, { actor: process.name });
  }

  #connect(): void {
    if (this.#isClosed) return;
    this.outage = undefined;
    this.#connectedUs = this.#parts.time.nowUs;
    this.#wire = this.#newWire();
    this.#server = this.#parts.server();
    const again = [...this.#unanswered.splice(0), ...this.#queued.splice(0)];
    for (const request of again) this.#put(request);
  }

  #newWire(): Wire {
    const { name, time, distance, delays, process, server } = this.#parts;
    this.#wires += 1;
    const ends = { name: `${name} commands ${this.#wires}`, process: process.name, server: server().name };
    return new Wire(time, distance, delays, ends);
  }

  #put(request: Kept): void {
    const { process, watch } = this.#parts;
    const server = this.#server;
    const wire = this.#wire;
    this.#unanswered.push(request);
    const { replacements } = server;
    const arrive = () => {
      if (server.replacements !== replacements) return;
      server.askedUs = request.askedUs;
      this.#execute(request, server, wire);
    };
    wire.toServer(process.nowUs, () => server.gate.pass(arrive));
    this.#counts.sent += 1;
    watch.reached(this, "sent", this.#counts.sent);
  }

  #execute(request: Kept, server: SimServer, wire: Wire): void {
    this.#counts.arrived += 1;
    const { nowUs: ranUs } = this.#parts.time;
    const answer = (settle: () => void) => () => this.#answer(request, wire, ranUs, settle);
    const reply = (settle: () => void) => wire.toProcess(() => this.#parts.process.gate.pass(answer(settle)));
    try {
      const raw = request.act(server);
      if (raw instanceof Promise) void raw.then((late) => reply(() => request.answered(late)));
      else reply(() => request.answered(raw));
    } catch (error) {
      if (!(error instanceof ServerReplyError)) throw error;
      reply(() => request.failed(error));
    }
    this.#parts.watch.reached(this, "arrived", this.#counts.arrived);
  }

  #answer(request: Kept, wire: Wire, ranUs: number, settle: () => void): void {
    // After a reconnect the client has forgotten what came on the old connection.
    if (wire !== this.#wire || this.outage !== undefined) return;
    const at = this.#unanswered.indexOf(request);
    if (at >= 0) this.#unanswered.splice(at, 1);
    const { watch, process } = this.#parts;
    watch.heard?.(process.name, request.keys, ranUs);
    settle();
    for (const tell of [...this.whenAnswered]) tell();
    this.#counts.answered += 1;
    watch.reached(this, "answered", this.#counts.answered);
  }
}
