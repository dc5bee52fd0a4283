import { EventEmitter } from "node:events";
import { connect, type Socket } from "node:net";
import { isMessage, splitFrames } from "../servers/resp.js";

/** The server's own words. */
export class PlainReplyError extends Error {}

interface Unanswered {
  resolve(reply: unknown): void;
  reject(error: Error): void;
}

interface PlainEvents {
  ready: [];
  lost: [cause: Error];
  message: [channel: string, message: string];
}

/**
 * A client of Redis as plain as can be: one connection, made with the first command and anew with the first one after it was lost. It
 * sends nothing twice, and subscribes to nothing by itself.
 */
export class PlainClient extends EventEmitter<PlainEvents> {
  readonly host: string;
  readonly port: number;
  ended = false;
  #socket: Socket | undefined;
  #rest: Buffer = Buffer.alloc(0);
  #unanswered: Unanswered[] = [];

  constructor({ host = "127.0.0.1", port }: { readonly host?: string; readonly port: number }) {
    super();
    this.host = host;
    this.port = port;
  }

  duplicate(): PlainClient {
    return new PlainClient(this);
  }

  send(words: readonly string[]): Promise<unknown> {
    if (this.ended) return Promise.reject(new Error("the client has ended"));
    this.#socket ??= this.#connect();
    const bulks = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
    this.#socket.write(`*${words.length}\r\n${bulks.join("")}`);
    return new Promise((resolve, reject) => {
      this.#unanswered.push({ resolve, reject });
    });
  }

  /** From the first command on. */
  unref(): void {
    this.#socket?.unref();
  }

  /** For good. Resolves when the connection has ended. */
  async end(): Promise<void> {
    this.ended = true;
    const socket = this.#socket;
    if (socket === undefined || socket.closed) return;
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.destroy();
    await closed;
  }

  #connect(): Socket {
    const socket = connect({ host: this.host, port: this.port, noDelay: true });
    let cause = new Error("the connection was closed");
    socket.on("connect", () => this.emit("ready"));
    socket.on("data", (bytes) => this.#read(bytes));
    socket.on("error", (error) => {
      cause = error;
    });
    socket.on("close", () => {
      this.#socket = undefined;
      this.#rest = Buffer.alloc(0);
      for (const { reject } of this.#unanswered.splice(0)) reject(cause);
      this.emit("lost", cause);
    });
    return socket;
  }

  #read(bytes: Buffer): void {
    const { frames, rest } = splitFrames(Buffer.concat([this.#rest, bytes]));
    this.#rest = rest;
    for (const frame of frames) {
      const reply = decoded(frame);
      if (isMessage(frame)) {
        const [, channel, message] = reply as readonly string[];
        this.emit("message", String(channel), String(message));
        continue;
      }
      const asked = this.#unanswered.shift();
      if (reply instanceof PlainReplyError) asked?.reject(reply);
      else asked?.resolve(reply);
    }
  }
}

/** A frame of RESP2 as a value. */
function decoded(frame: Buffer): unknown {
  const lineEnd = frame.indexOf("\r\n");
  const line = frame.toString("utf8", 1, lineEnd);
  const body = frame.subarray(lineEnd + 2);
  switch (String.fromCharCode(frame[0] ?? 0)) {
    case "-":
      return new PlainReplyError(line);
    case ":":
      return Number(line);
    case "$":
      return line === "-1" ? null : body.toString("utf8", 0, body.length - 2);
    case "*":
      return line === "-1" ? null : splitFrames(body).frames.map(decoded);
    default:
      return line;
  }
}
