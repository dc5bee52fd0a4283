import type { Redis } from "ioredis";
import type { RedisServer } from "./redis-server.js";

/** What goes wrong with the servers themselves shows before the timeout of a test hides it. */
const SOON_MS = 12_000;
const POLL_MS = 5;

/** So that who asks a server which no longer answers is told. */
const ANSWER_WITHIN_MS = 1_000;

/** A connection for each server, which is made anew when it has ended and not before somebody asks again. */
const connections = new WeakMap<RedisServer, Redis>();

/** Sends a command to a server. @throws what the server answers, or that it does not */
export function ask(server: RedisServer, command: string, ...args: (string | number)[]): Promise<unknown> {
  const known = connections.get(server);
  if (known !== undefined && known.status !== "end") return known.call(command, ...args);
  const made = server.client({ retryStrategy: () => null, commandTimeout: ANSWER_WITHIN_MS });
  connections.set(server, made);
  return made.call(command, ...args);
}

/** A part of INFO, line by line. */
export async function info(server: RedisServer, section: string): Promise<ReadonlyMap<string, string>> {
  const lines = String(await ask(server, "INFO", section)).split("\r\n");
  return new Map(lines.map((line) => [line.replace(/:.*/, ""), line.replace(/^[^:]*:/, "")]));
}

/** The answers of all those servers that are neither frozen nor dead. */
export function ofRunning<T>(
  servers: readonly RedisServer[],
  question: (server: RedisServer) => Promise<T>,
): Promise<T[]> {
  return Promise.all(servers.filter(({ running }) => running).map(question));
}

/** Resolves once the servers are as they should be, of which nobody tells. Whatever the condition throws says "not yet". */
export async function soon(what: string, condition: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + SOON_MS;
  let cause: unknown;
  const holds = () =>
    condition().catch((error: unknown) => {
      cause = error;
      return false;
    });
  while (!(await holds())) {
    if (performance.now() > deadlineMs) throw new Error(`${what}: not within ${SOON_MS} ms`, { cause });
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
