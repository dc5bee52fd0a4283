// @ts-check
/**
 * Stands for `next start`: serves the two route handlers, and ends on SIGTERM once open requests are answered. Tells play.mjs where it listens,
 * and for which locks requests wait.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import { events } from "holdfast";
import { POST } from "./app/orders/[id]/pay/route.js";
import { GET } from "./app/ready/route.js";
import { register } from "./instrumentation.js";

process.env["NEXT_RUNTIME"] = "nodejs";
await register();

const server = createServer(async (incoming, outgoing) => {
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort());
  const { method = "GET", url = "/" } = incoming;
  const request = new Request(`http://localhost${url}`, { method, signal: gone.signal });
  const id = /^\/orders\/([^/]+)\/pay$/.exec(url)?.[1];
  const answer = id === undefined ? GET() : await POST(request, { params: Promise.resolve({ id }) });
  outgoing.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
});
server.listen(0, "127.0.0.1");
await once(server, "listening");

process.once("SIGTERM", () => {
  server.close(() => process.exit());
  server.keepAliveTimeout = 1; // open connections end after their response
});
process.send?.(server.address());
events.contended.subscribe(({ name }) => void process.send?.({ waitsFor: name }));
// Nothing is left where play.mjs was cut short.
process.once("disconnect", () => process.exit());
