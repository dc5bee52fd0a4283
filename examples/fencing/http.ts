import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import type { FencedLock } from "holdfast";
import { StaleTokenError } from "./stale-token-error.js";

/** A service that is one process and keeps all in memory. Any other hands the token on to its database. */
export function fencedServer(): Server {
  const stored = new Map<string, { readonly token: bigint; readonly value: string }>();
  const answer = (request: IncomingMessage, body: string, response: ServerResponse) => {
    const { method, url = "/", headers } = request;
    const { token: greatest, value } = stored.get(url) ?? { token: 0n, value: "" };
    const digits = /^\d{1,19}$/.exec(String(headers["fencing-token"]));
    // A client that only looks needs no token. A write without one is refused: "Precondition Required".
    if (digits === null) return method === "GET" ? response.end(value) : response.writeHead(428).end();
    const token = BigInt(digits[0]);
    if (token < greatest) return response.writeHead(412).end();
    const after = method === "PUT" ? body : value;
    stored.set(url, { token, value: after });
    return response.end(after);
  };
  return createServer((request, response) => {
    // The body first: from the check to the write nothing is awaited.
    text(request).then(
      (body) => answer(request, body, response),
      () => response.destroy(),
    );
  });
}

/** A read under the lock has the token too: from then on the service refuses what an earlier holder still sends. */
export async function fencedFetch(url: string, token: bigint, init: RequestInit = {}): Promise<string> {
  const headers = new Headers(init.headers);
  headers.set("Fencing-Token", `${token}`);
  const response = await fetch(url, { ...init, headers });
  if (response.status === 412) throw new StaleTokenError(url, token);
  if (!response.ok) throw new Error(`${url} answers ${response.status}`);
  return response.text();
}

export async function deposit(lock: FencedLock, url: string, cents: number): Promise<void> {
  await lock.using(async ({ token }) => {
    const before = Number(await fencedFetch(url, token));
    await fencedFetch(url, token, { method: "PUT", body: `${before + cents}` });
  });
}
