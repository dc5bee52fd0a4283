import { createServer, type Server, type ServerResponse } from "node:http";
import { userInfo } from "node:os";
import type { Holdfast } from "holdfast";
import { type Access, inspector } from "holdfast/inspector";
import type { AllowedHosts } from "./hosts.js";
import { hasToken, type Token } from "./token.js";

export interface PageOptions {
  readonly hosts: AllowedHosts;
  readonly token: Token;
  readonly mayFree: boolean;
  /** The group whose presence to read. */
  readonly group: string;
  /** Gets a line for each lock that is freed. */
  readonly log: (line: string) => void;
}

/** The page on its own server. */
export interface PageServer {
  readonly server: Server;
  /** Ends all work. */
  close(): void;
}

const MOST_CONNECTIONS = 256;

/** The server does not listen yet. */
export function makePageServer(holdfast: Holdfast, options: PageOptions): PageServer {
  const { hosts, group, log } = options;
  const authorize = (request: Request) => accessOf(request, options);
  const locks = inspector(holdfast, { authorize, group, log });
  const server = createServer((request, response) => {
    if (!hosts.allows(request.headers.host)) refuse(response, 421);
    else if (/^\/(?:\?|$)/.test(request.url ?? "")) locks.node(request, response);
    else refuse(response, 404);
  });
  server.maxConnections = MOST_CONNECTIONS;
  return {
    server,
    close() {
      locks.close();
      server.close();
      server.closeAllConnections();
    },
  };
}

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status, { "content-length": 0 }).end();
}

/** The page and its scripts contain no data, and a browser requests them without the token. */
function accessOf(request: Request, { token, mayFree }: PageOptions): Access | Response {
  const { method, url, headers } = request;
  const isPage = /^(?:\?asset=[^&]*)?$/.test(new URL(url).search);
  if (isPage && (method === "GET" || method === "HEAD")) return { role: "read" };
  if (!hasToken(headers, token)) return refusal();
  return { role: mayFree ? "operate" : "read", actor: user(), byToken: true };
}

function refusal(): Response {
  const headers = { "cache-control": "no-store", "x-content-type-options": "nosniff" };
  const error = "the token is missing or wrong: open the URL that holdfast inspect has printed";
  return Response.json({ error }, { status: 401, headers });
}

function user(): string {
  try {
    return userInfo().username;
  } catch {
    return "";
  }
}
