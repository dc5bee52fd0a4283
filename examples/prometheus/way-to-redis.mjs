// @ts-check
import { once } from "node:events";
import { connect, createServer } from "node:net";

/** As Redis sends it: the beginning of what a subscriber gets, also of a sharded channel. */
const MESSAGE = /s?message\r\n/;

/** A proxy before Redis, with the faults that a network has. */
export class WayToRedis {
  #target;
  #server = createServer((socket) => this.#accept(socket));
  /** @type {Set<import("node:net").Socket>} */
  #sockets = new Set();
  /** Messages do not arrive, as behind a proxy that has forgotten connections on which little happens. Commands are answered. */
  isDeaf = false;
  #isCut = false;

  /** @param {URL} target */
  constructor(target) {
    this.#target = target;
  }

  /** @returns {Promise<string>} the URL that leads through it */
  async open() {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const address = this.#server.address();
    const url = new URL(this.#target);
    url.hostname = "127.0.0.1";
    url.port = String(typeof address === "object" ? address?.port : "");
    return url.href;
  }

  /** Redis is out of reach. */
  cut() {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend() {
    this.#isCut = false;
  }

  close() {
    this.cut();
    this.#server.close();
  }

  /** @param {import("node:net").Socket} client */
  #accept(client) {
    if (this.#isCut) return void client.destroy();
    const server = connect(Number(this.#target.port || 6_379), this.#target.hostname);
    for (const [from, to] of [
      [client, server],
      [server, client],
    ]) {
      if (from === undefined || to === undefined) continue;
      this.#sockets.add(from);
      from.setNoDelay(true).on("error", () => undefined);
      from.once("close", () => {
        this.#sockets.delete(from);
        to.destroy();
      });
    }
    client.on("data", (bytes) => server.write(bytes));
    server.on("data", (bytes) => {
      if (!this.isDeaf || !MESSAGE.test(bytes.toString("latin1"))) client.write(bytes);
    });
  }
}
