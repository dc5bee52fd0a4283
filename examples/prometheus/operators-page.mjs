// @ts-check
import { once } from "node:events";
import { createServer } from "node:http";
import { Holdfast } from "holdfast";
import { inspector } from "holdfast/inspector";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";

/** @typedef {{ traceId: string, name: string, durationMs: number, attributes: Readonly<Record<string, unknown>> }} Span */

const MOST_TRACES = 20_000;

/** The inspector, whose links lead from a holder to its trace, and a page for each trace: it stands for Jaeger, Tempo and their like. */
export class OperatorsPage {
  /** @type {Map<string, Span[]>} */
  #traces = new Map();
  #redis;
  #server = createServer((request, response) => this.#answer(request, response));
  /** @type {import("holdfast/inspector").Inspector | undefined} */
  #locks;
  url = "";
  /** As the option `links` of the inspector has it. */
  traceLink = "";

  /** @param {string} redisUrl */
  constructor(redisUrl) {
    this.#redis = new Redis(redisUrl);
    this.holdfast = new Holdfast(ioredisDriver(this.#redis));
  }

  async open() {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const address = this.#server.address();
    this.url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
    // TRACES='http://localhost:16686/trace/{note}' for a Jaeger on this machine.
    this.traceLink = process.env["TRACES"] ?? `${this.url}/traces/{note}`;
    this.#locks = inspector(this.holdfast, {
      authorize: () => ({ role: "read" }),
      links: { trace: this.traceLink },
    });
  }

  /** @param {readonly Span[]} spans */
  add(spans) {
    for (const span of spans) {
      const trace = this.#traces.get(span.traceId);
      if (trace === undefined) this.#traces.set(span.traceId, [span]);
      else trace.push(span);
    }
    for (const id of this.#traces.keys()) {
      if (this.#traces.size <= MOST_TRACES) break;
      this.#traces.delete(id);
    }
  }

  async close() {
    this.#locks?.close();
    this.#server.close();
    this.#server.closeAllConnections();
    await this.holdfast.close();
    this.#redis.disconnect();
  }

  /** @param {import("node:http").IncomingMessage} request @param {import("node:http").ServerResponse} response */
  #answer(request, response) {
    const { pathname } = new URL(request.url ?? "/", this.url);
    if (pathname === "/locks") return void this.#locks?.node(request, response);
    const spans = this.#traces.get(pathname.replace("/traces/", ""));
    response.writeHead(spans === undefined ? 404 : 200, { "content-type": "text/plain; charset=utf-8" });
    const lines = (spans ?? []).map(
      ({ name, durationMs, attributes }) =>
        `${name}, ${durationMs} ms\n${JSON.stringify(attributes, null, 2)}\n`,
    );
    response.end(spans === undefined ? "No span of this trace has ended.\n" : lines.join("\n"));
  }
}
