import { createConnection, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { RedisServer } from "./redis-server.js";

/** A command that a client sent, byte for byte: each character of a word is one byte. */
export type SeenCommand = readonly string[];

const ESCAPES: Readonly<Record<string, string>> = {
  n: "\n",
  r: "\r",
  t: "\t",
  a: "\x07",
  b: "\b",
};

/**
 * Hears by `MONITOR` what clients send to a server. A connection of its own, as the one of ioredis does not tell one byte
 * from the four characters that MONITOR writes for it.
 */
export class ServerMonitor {
  readonly #socket: Socket;
  readonly #server: RedisServer;
  #seen: SeenCommand[] = [];
  #marks = 0;

  private constructor(socket: Socket, server: RedisServer) {
    this.#socket = socket;
    this.#server = server;
  }

  static async open(server: RedisServer): Promise<ServerMonitor> {
    const socket = createConnection(server.port, "127.0.0.1").setEncoding("latin1");
    const monitor = new ServerMonitor(socket, server);
    let rest = "";
    const ready = new Promise<void>((resolve, reject) => {
      socket.once("error", reject);
      socket.on("data", (text) => {
        const lines = `${rest}${text}`.split("\r\n");
        rest = lines.pop() ?? "";
        for (const line of lines) {
          if (line === "+OK") resolve();
          else monitor.#take(line);
        }
      });
    });
    socket.write("MONITOR\r\n");
    await ready;
    return monitor;
  }

  /** What was sent since the last look, in order, without what scripts have called. */
  async read(): Promise<readonly SeenCommand[]> {
    this.#marks += 1;
    const mark = `mark ${this.#marks}`;
    await this.#server.client().ping(mark);
    for (;;) {
      const at = this.#seen.findIndex((words) => words[1] === mark);
      if (at >= 0) return this.#seen.splice(0, at + 1).slice(0, -1);
      await nextTurn();
    }
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(line: string): void {
    const [, origin, words = ""] = /^\+[\d.]+ \[\d+ (\S+)\] (.*)$/s.exec(line) ?? [];
    if (origin === "lua") return;
    this.#seen.push([...words.matchAll(/"((?:[^"\\]|\\.)*)"/gs)].map(([, word = ""]) => unescaped(word)));
  }
}

function unescaped(word: string): string {
  return word.replace(/\\(?:x([0-9a-f]{2})|(.))/gs, (_, hex: string | undefined, sign: string) =>
    hex === undefined ? (ESCAPES[sign] ?? sign) : String.fromCharCode(Number.parseInt(hex, 16)),
  );
}
