import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse, request as send } from "node:http";
import { connect, createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import type { Inspector } from "../../../src/inspector/index.js";

/** What was answered, in the same words for all doors. */
export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A request for a page, of which the path is that of the mount. */
export interface Sent {
  readonly search: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One way to ask an inspector. */
export type Door = (locks: Inspector, sent: Sent) => Promise<Answered>;

export const PATH = "/a/b/locks";

/** What an HTTP server adds by itself. */
const OF_SERVER = new Set(["connection", "keep-alive", "date", "content-length", "transfer-encoding"]);

async function byFetch(locks: Inspector, { search, method = "GET", headers = {} }: Sent): Promise<Answered> {
  const request = new Request(`http://localhost${PATH}${search}`, { method, headers });
  const response = await locks.fetch(request, "native");
  const body = Buffer.from(await response.arrayBuffer()).toString("latin1");
  return { status: response.status, headers: plainHeaders(response.headers), body };
}

async function byNode(locks: Inspector, { search, method = "GET", headers = {} }: Sent): Promise<Answered> {
  const server = createServer((request, response) => locks.node(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  try {
    const path = PATH + search;
    const asked = send({ port, path, method, headers: { host: "localhost", ...headers } });
    asked.end();
    const [response] = await once(asked, "response");
    const parts: Buffer[] = [];
    for await (const part of response) parts.push(part as Buffer);
    const found = new Headers(response.headers as Record<string, string>);
    return {
      status: response.statusCode,
      headers: plainHeaders(found),
      body: Buffer.concat(parts).toString("latin1"),
    };
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** Without a Host, as browsers send it there. */
async function byHttp2(locks: Inspector, { search, method = "GET", headers = {} }: Sent): Promise<Answered> {
  const server = createHttp2Server((request, response) =>
    locks.node(request as unknown as IncomingMessage, response as unknown as ServerResponse),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  try {
    const path = PATH + search;
    const asked = session.request({
      ":authority": "localhost",
      ":path": path,
      ":method": method,
      ...headers,
    });
    asked.end();
    const [answered] = await once(asked, "response");
    const parts: Buffer[] = [];
    for await (const part of asked) parts.push(part as Buffer);
    const found = Object.entries(answered as Record<string, string>).filter(
      ([name]) => !name.startsWith(":"),
    );
    return {
      status: answered[":status"],
      headers: plainHeaders(new Headers(found)),
      body: Buffer.concat(parts).toString("latin1"),
    };
  } finally {
    session.destroy();
    server.close();
  }
}

function plainHeaders(headers: Headers): Readonly<Record<string, string>> {
  return Object.fromEntries([...headers].filter(([name]) => !OF_SERVER.has(name)));
}

export const doors: readonly (readonly [name: string, door: Door])[] = [
  ["fetch", byFetch],
  ["node", byNode],
  ["node by HTTP/2", byHttp2],
];
