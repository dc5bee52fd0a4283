import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Holdfast } from "holdfast";
import { type Access, inspector } from "holdfast/inspector";
import { MemoryServer, memoryDriver } from "holdfast/memory";
import type { Screen } from "../terminal/screen.js";
import { Fleet } from "./fleet.js";

/** The page of a fleet at work, until somebody ends it. */
export interface Inspection {
  /** The address of the page, with its token. */
  readonly address: string;
  close(): Promise<void>;
}

/** Starts the fleet and its page, for this machine alone and behind a token, as `holdfast inspect` does. */
export async function startInspection(): Promise<Inspection> {
  const memory = new MemoryServer();
  const fleet = new Fleet(memory);
  const looks = new Holdfast(memoryDriver(memory));
  const token = randomBytes(32).toString("base64url");
  const locks = inspector(looks, { authorize: (request) => accessOf(request, token), refreshMs: 1_000 });
  const server = createServer((request, response) => {
    // Another host name that leads here belongs to a page of somebody else.
    if (/^(?:127\.0\.0\.1|localhost)(?::\d+)?$/.test(request.headers.host ?? ""))
      locks.node(request, response);
    else response.writeHead(421).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  fleet.start();
  const { port } = server.address() as AddressInfo;
  return {
    address: `http://127.0.0.1:${port}/#token=${token}`,
    async close() {
      locks.close();
      server.close();
      server.closeAllConnections();
      await fleet.close();
      await looks.close();
    },
  };
}

/** The page and its scripts have no data, and a browser asks for them without the token. */
function accessOf(request: Request, token: string): Access | Response {
  if (/^(?:\?asset=[^&]*)?$/.test(new URL(request.url).search)) return { role: "read" };
  const digest = (text: string) => createHash("sha256").update(text).digest();
  const sent = request.headers.get("authorization") ?? "";
  if (timingSafeEqual(digest(sent), digest(`Bearer ${token}`)))
    return { role: "operate", actor: "demo", byToken: true };
  return Response.json(
    { error: "the token is missing: open the address that the demo has printed" },
    { status: 401 },
  );
}

export function introduce(screen: Screen, address: string): void {
  screen.heading("The inspector");
  screen.prose("A small fleet is at work on an embedded server in this process. Open its page:");
  screen.line();
  screen.line(`  ${screen.paint("bold", address)}`);
  screen.line();
  screen.prose(
    "order:42, stock:eu:reserve and report:daily are fought for; a click shows which program holds one and " +
      "which wait. After 20 s the one with nightly:rebuild dies. Some ten seconds later the page calls that " +
      "lock stale, and you can free it: type its name, and watch the event. Later leader:scheduler is lost, as " +
      "somebody deletes its key.",
  );
  screen.line();
  screen.prose("Ctrl-C ends it.");
}
