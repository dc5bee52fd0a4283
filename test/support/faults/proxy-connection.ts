import { connect, type Socket } from "node:net";
import { isMessage, splitFrames } from "../servers/resp.js";

/** What is to happen to a request or a reply: wait for so many milliseconds, until the proxy heals, or vanish. */
export type Verdict = "pass" | "hold" | "drop" | { readonly delayMs: number };

/** What a fault does to the traffic, frame by frame. */
export interface Rule {
  request?(connection: ProxyConnection, frame: Buffer): Verdict;
  reply?(connection: ProxyConnection, frame: Buffer): Verdict;
  /** The end of the stream in one of the directions. */
  end?(connection: ProxyConnection): Verdict;
}

/** How many of the latest requests a connection remembers. */
const REMEMBERED_REQUESTS = 50;

/** One connection of a client through the proxy: two sockets, and a lane in each direction. */
export class ProxyConnection {
  /** Names of the commands that the client has sent, in lower case. */
  readonly commands = new Set<string>();
  readonly id: number;
  /** How many replies the server still owes. */
  owed = 0;
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #requests: Lane;
  readonly #replies: Lane;
  readonly #recent: string[] = [];

  constructor(id: number, client: Socket, targetPort: number, rules: ReadonlySet<Rule>) {
    this.id = id;
    this.#client = client;
    this.#server = connect(targetPort, "127.0.0.1");
    for (const socket of [this.#client, this.#server]) {
      socket.setNoDelay(true);
      // "close" follows.
      socket.on("error", () => undefined);
    }
    const judge = (ask: (rule: Rule) => Verdict | undefined): Verdict => {
      for (const rule of rules) {
        const verdict = ask(rule) ?? "pass";
        if (verdict !== "pass") return verdict;
      }
      return "pass";
    };
    this.#requests = new Lane(this.#client, this.#server, (frame) => {
      if (frame === undefined) return judge((rule) => rule.end?.(this));
      this.#remember(frame);
      return judge((rule) => rule.request?.(this, frame));
    });
    this.#replies = new Lane(this.#server, this.#client, (frame) => {
      if (frame === undefined) return judge((rule) => rule.end?.(this));
      if (!isMessage(frame)) this.owed -= 1;
      return judge((rule) => rule.reply?.(this, frame));
    });
  }

  /** True if one of the latest requests has this text in it, be it a command, a key or an argument. */
  carries(text: string): boolean {
    const wanted = text.toLowerCase();
    return this.#recent.some((request) => request.includes(wanted));
  }

  /** Resolves once both sockets are closed. */
  get closed(): Promise<unknown> {
    return Promise.all([this.#client, this.#server].map(closeOf));
  }

  /** Breaks both sockets, with whatever is on its way. */
  cut(): void {
    this.#requests.stop();
    this.#replies.stop();
    this.#client.destroy();
    this.#server.destroy();
  }

  /** Lets pass what was held. A connection of which something was dropped cannot go on. */
  heal(): void {
    if (this.#requests.incomplete || this.#replies.incomplete) this.cut();
    this.#requests.release();
    this.#replies.release();
  }

  #remember(frame: Buffer): void {
    const text = frame.toString("latin1").toLowerCase();
    this.commands.add(text.split("\r\n")[2] ?? text.trim());
    this.#recent.push(text);
    if (this.#recent.length > REMEMBERED_REQUESTS) this.#recent.shift();
    this.owed += 1;
  }
}

function closeOf(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once("close", () => resolve());
  });
}

/** Undefined stands for the end of the stream, which travels behind the data. */
type Frame = Buffer | undefined;

interface Waiting {
  readonly frame: Frame;
  readonly dueMs: number;
}

/** One direction: frames leave in the order in which they came, when their time has come. */
class Lane {
  /** True once a frame was dropped: the other side would take the next one for it. */
  incomplete = false;
  readonly #to: Socket;
  readonly #judge: (frame: Frame) => Verdict;
  #rest: Buffer = Buffer.alloc(0);
  #waiting: Waiting[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(from: Socket, to: Socket, judge: (frame: Frame) => Verdict) {
    this.#to = to;
    this.#judge = judge;
    from.on("data", (bytes) => {
      const { frames, rest } = splitFrames(Buffer.concat([this.#rest, bytes]));
      this.#rest = rest;
      for (const frame of frames) this.#take(frame);
    });
    from.on("close", () => this.#take(undefined));
  }

  release(): void {
    this.#waiting = this.#waiting.map(({ frame }) => ({ frame, dueMs: 0 }));
    this.#drain();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#waiting = [];
  }

  #take(frame: Frame): void {
    const verdict = this.#judge(frame);
    if (verdict === "drop") this.incomplete = true;
    else this.#waiting.push({ frame, dueMs: dueMs(verdict) });
    this.#drain();
  }

  #drain(): void {
    clearTimeout(this.#timer);
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      const leftMs = first.dueMs - performance.now();
      if (leftMs === Number.POSITIVE_INFINITY) return;
      if (leftMs > 0) {
        this.#timer = setTimeout(() => this.#drain(), Math.ceil(leftMs));
        return;
      }
      this.#waiting.shift();
      this.#pass(first.frame);
    }
  }

  #pass(frame: Frame): void {
    const to = this.#to;
    if (to.destroyed) return;
    if (frame === undefined) to.end(() => to.destroy());
    else to.write(frame);
  }
}

function dueMs(verdict: Exclude<Verdict, "drop">): number {
  if (verdict === "pass") return 0;
  return verdict === "hold" ? Number.POSITIVE_INFINITY : performance.now() + verdict.delayMs;
}
