import type { Redis } from "ioredis";
import { inject } from "vitest";
import { whenStopped } from "./process-state.js";
import type { RedisServer } from "./redis-server.js";
import { isRequestKey } from "./request-keys.js";
import { type ClientOptions, ServerClients } from "./server-clients.js";

/** Where a server is that global-setup.ts has started. */
export interface WorkerServerPlace {
  readonly port: number;
  readonly pid: number;
}

/** What was just closed needs a moment until the server has noticed: GLIDE closes its connections in threads of its own. */
const ALONE_WITHIN_MS = 10_000;

/** Those who use the server in the file that runs now. The last one leaves it as it was. */
let users = 0;
let settings: Settings | undefined;

/**
 * The server of this worker, which one file after the other uses; empty when a file begins. `stop` fails when a key, a client or
 * another setting is left, and mends that for the next file. What ends or restarts its server, or starts it with arguments, needs
 * one of its own: `startRedis`.
 */
export async function workerServer(): Promise<RedisServer> {
  const place = inject("workerServers")[Number(process.env["VITEST_POOL_ID"]) - 1];
  if (place === undefined) throw new Error("there is no server for this worker");
  const server = new WorkerServer(place);
  users += 1;
  if (users === 1) settings = await settingsOf(server.admin);
  return server;
}

class WorkerServer implements RedisServer {
  readonly port: number;
  readonly tlsPort = undefined;
  readonly pid: number;
  readonly url: string;
  readonly admin: Redis;
  readonly #clients: ServerClients;
  readonly #own: ServerClients;
  #paused = false;
  #stopped: Promise<void> | undefined;

  constructor({ port, pid }: WorkerServerPlace) {
    this.port = port;
    this.pid = pid;
    this.url = `redis://127.0.0.1:${port}`;
    this.#clients = new ServerClients({ port });
    this.#own = new ServerClients({ port });
    this.admin = this.#own.open();
  }

  get running(): boolean {
    return !this.#paused;
  }

  client(options: ClientOptions = {}): Redis {
    return this.#clients.open(options);
  }

  async pause(): Promise<void> {
    this.#paused = true;
    process.kill(this.pid, "SIGSTOP");
    await whenStopped(this.pid);
  }

  resume(): void {
    process.kill(this.pid, "SIGCONT");
    this.#paused = false;
  }

  kill(): Promise<void> {
    throw new Error("other files need the server of this worker: start one with startRedis()");
  }

  restart(): Promise<void> {
    return this.kill();
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#leave();
    return this.#stopped;
  }

  async #leave(): Promise<void> {
    if (this.#paused) this.resume();
    await this.#clients.close();
    users -= 1;
    try {
      if (users > 0 || settings === undefined) return;
      const left = await cleaned(this.admin, settings);
      if (left.length > 0) throw new Error(`left on the server of the worker: ${left.join(", ")}`);
    } finally {
      await this.#own.close();
    }
  }
}

/** Values by the names of settings, and the rules of each user. */
interface Settings {
  readonly config: ReadonlyMap<string, string>;
  readonly users: ReadonlyMap<string, readonly string[]>;
}

async function settingsOf(admin: Redis): Promise<Settings> {
  const flat = (await admin.config("GET", "*")) as string[];
  const config = flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1] ?? ""] as const] : []));
  const lines = (await admin.acl("LIST")) as string[];
  const users = lines
    .map((line) => line.split(" ").slice(1))
    .map(([name = "", ...rules]) => [name, rules] as const);
  return { config: new Map(config), users: new Map(users) };
}

/** What a file has left, each in words. The next one finds the server as if it were new. */
async function cleaned(admin: Redis, before: Settings): Promise<string[]> {
  const keys = (await admin.keys("*")).filter((name) => !isRequestKey(name)).map((name) => `the key ${name}`);
  const left = [...keys, ...(await strangers(admin)), ...(await restored(admin, before))];
  await admin.flushall();
  await admin.script("FLUSH");
  await admin.config("RESETSTAT");
  return left;
}

async function strangers(admin: Redis): Promise<string[]> {
  const own = await admin.client("ID");
  const deadlineMs = performance.now() + ALONE_WITHIN_MS;
  for (;;) {
    const clients = String(await admin.client("LIST"))
      .trimEnd()
      .split("\n");
    const others = clients.filter((client) => !client.startsWith(`id=${own} `));
    if (others.length === 0) return [];
    if (performance.now() > deadlineMs) {
      for (const client of others) await admin.client("KILL", "ID", idOf(client));
      return others.map((client) => `a client whose last command was ${/ cmd=(\S+)/.exec(client)?.[1]}`);
    }
    await new Promise(setImmediate);
  }
}

function idOf(client: string): string {
  return /^id=(\d+) /.exec(client)?.[1] ?? "";
}

async function restored(admin: Redis, before: Settings): Promise<string[]> {
  const now = await settingsOf(admin);
  const settings = [...before.config].filter(([name, value]) => now.config.get(name) !== value);
  for (const [name, value] of settings) await admin.config("SET", name, value);
  const users = new Set(
    [...before.users.keys(), ...now.users.keys()].filter(
      (name) => String(before.users.get(name)) !== String(now.users.get(name)),
    ),
  );
  for (const name of users) {
    const rules = before.users.get(name);
    await (rules === undefined ? admin.acl("DELUSER", name) : admin.acl("SETUSER", name, "reset", ...rules));
  }
  return [
    ...settings.map(([name]) => `another ${name}`),
    ...[...users].map((name) => `other rights of the user ${name}`),
  ];
}
