import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Redis } from "ioredis";
import { guard, killNow } from "../run/guard.js";
import { freePort } from "./free-port.js";
import { whenStopped } from "./process-state.js";
import { findServer, isBefore7 } from "./redis-program.js";
import { type ClientOptions, ServerClients } from "./server-clients.js";
import { type ServerTls, tlsArguments } from "./server-tls.js";

export interface RedisServer {
  readonly port: number;
  /** Where it speaks TLS; undefined where it does not. */
  readonly tlsPort: number | undefined;
  /** Of the process that runs now; changes with a restart. */
  readonly pid: number;
  /** False while it is frozen or dead. */
  readonly running: boolean;
  /** `redis://127.0.0.1:port`, with the password if there is one. */
  readonly url: string;
  /** A plain client, closed by `stop`. It reconnects quickly and keeps connection errors to itself. */
  client(options?: ClientOptions): Redis;
  /** Stops the process (SIGSTOP): connections stay, nobody answers. Resolves once it stands still. */
  pause(): Promise<void>;
  resume(): void;
  /** Ends the process at once (SIGKILL). Connections break; `restart` brings it back. */
  kill(): Promise<void>;
  /** A new process on the same port, with nothing stored. Sentinels and nodes of a cluster know each other still. */
  restart(): Promise<void>;
  /** Closes the clients, ends the process, removes its folder. Safe twice. */
  stop(): Promise<void>;
}

export interface RedisServerOptions {
  /** Further arguments for the server, such as `["--maxmemory", "1mb"]`. */
  readonly args?: readonly string[];
  readonly password?: string;
  /** What it is instead of a server on its own. */
  readonly role?: "sentinel" | "cluster node";
  /** Makes it speak TLS, on a port of its own. Other servers are then expected to reach it there. */
  readonly tls?: ServerTls;
}

const READY_WITHIN_MS = 10_000;
const POLL_MS = 2;
const MAX_PORTS = 10;

/** Starts an empty server on a free port of 127.0.0.1, which writes nothing to disk and ends when we do. */
export async function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  const program = findServer();
  for (let tries = 1; ; tries += 1) {
    const tlsPort = options.tls === undefined ? undefined : await freePort();
    const server = new Server(
      program,
      { port: await freePort(), busPort: await freePort(), tlsPort },
      options,
    );
    try {
      await server.start();
      return server;
    } catch (error) {
      await server.stop();
      // Somebody else took the port between our look at it and the server's.
      if (!(error instanceof PortTakenError) || tries === MAX_PORTS) throw error;
    }
  }
}

/** Where those that were told to speak TLS find each other, and the others do. */
export function portFor({ tlsPort, port }: RedisServer): number {
  return tlsPort ?? port;
}

/** Has a server listen on both loopback addresses. */
export const bothAddresses: readonly string[] = ["--bind", "127.0.0.1", "::1"];

/** Starts that many servers at the same time: all of them, or none. */
export async function startMany(count: number, options: RedisServerOptions = {}): Promise<RedisServer[]> {
  const starts = await Promise.allSettled(Array.from({ length: count }, () => startRedis(options)));
  const servers = starts.flatMap((start) => (start.status === "fulfilled" ? [start.value] : []));
  const failed = starts.find((start) => start.status === "rejected");
  if (failed === undefined) return servers;
  await stopAll(servers);
  throw failed.reason;
}

/** Independent servers, as a red lock wants them. */
export function startMasters(count = 5): Promise<RedisServer[]> {
  return startMany(count);
}

export async function stopAll(servers: readonly RedisServer[]): Promise<void> {
  await Promise.all(servers.map((server) => server.stop()));
}

class PortTakenError extends Error {}

interface Ports {
  readonly port: number;
  readonly busPort: number;
  readonly tlsPort: number | undefined;
}

class Server implements RedisServer {
  readonly port: number;
  readonly tlsPort: number | undefined;
  readonly url: string;
  readonly #program: string;
  readonly #args: readonly string[];
  readonly #password: string | undefined;
  readonly #dir = mkdtempSync(join(tmpdir(), "holdfast-redis-"));
  readonly #clients: ServerClients;
  #process: ChildProcess | undefined;
  #release: (() => void) | undefined;
  #paused = false;

  constructor(program: string, { port, busPort, tlsPort }: Ports, options: RedisServerOptions) {
    const { args = [], password, role, tls } = options;
    this.#program = program;
    this.port = port;
    this.tlsPort = tlsPort;
    this.url = `redis://${password === undefined ? "" : `:${encodeURIComponent(password)}@`}127.0.0.1:${port}`;
    this.#password = password;
    this.#clients = new ServerClients({ port, ...(password === undefined ? {} : { password }) });
    const given = {
      port,
      bind: "127.0.0.1",
      dir: this.#dir,
      save: "",
      appendonly: "no",
      loglevel: "warning",
      ...(role === "cluster node" ? { "cluster-enabled": "yes" } : {}),
      // Redis 6.2 takes the port that is 10,000 higher.
      ...(role === "cluster node" && !isBefore7() ? { "cluster-port": busPort } : {}),
    };
    this.#args = [
      ...(role === "sentinel" ? [emptyFile(join(this.#dir, "sentinel.conf")), "--sentinel"] : []),
      ...Object.entries(given).flatMap(([name, value]) => [`--${name}`, String(value)]),
      ...(password === undefined ? [] : ["--requirepass", password]),
      ...(tls === undefined || tlsPort === undefined ? [] : tlsArguments(tls, tlsPort, this.#dir)),
      ...args,
    ];
  }

  get pid(): number {
    const pid = this.#process?.pid;
    if (pid === undefined) throw new Error(`the server of port ${this.port} does not run`);
    return pid;
  }

  get running(): boolean {
    return this.#process !== undefined && !this.#paused;
  }

  async start(): Promise<void> {
    const child = spawn(this.#program, this.#args, { stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += text));
    const closed = new Promise((resolve) => child.once("close", resolve));
    await once(child, "spawn");
    this.#process = child;
    this.#release = guard(this.pid, this.#dir);
    const deadlineMs = performance.now() + READY_WITHIN_MS;
    for (;;) {
      const pid = await processAt(this.port, this.#password);
      if (pid === this.pid) return;
      // Its last words may still be on their way when it has ended.
      if (hasEnded(child)) await closed;
      if (pid !== undefined || /address already in use/i.test(output)) throw new PortTakenError(output);
      if (hasEnded(child)) throw new Error(`${this.#program} ended at once: ${output}`);
      if (performance.now() > deadlineMs) throw new Error(`${this.#program} does not answer: ${output}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  client(options: ClientOptions = {}): Redis {
    return this.#clients.open(options);
  }

  async pause(): Promise<void> {
    const { pid } = this;
    this.#paused = true;
    process.kill(pid, "SIGSTOP");
    await whenStopped(pid);
  }

  resume(): void {
    process.kill(this.pid, "SIGCONT");
    this.#paused = false;
  }

  async kill(): Promise<void> {
    const child = this.#process;
    if (child?.pid === undefined) return;
    this.#process = undefined;
    this.#paused = false;
    const ended = hasEnded(child) ? undefined : once(child, "close");
    killNow(child.pid);
    await ended;
    this.#release?.();
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  async stop(): Promise<void> {
    await this.#clients.close();
    await this.kill();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** A Sentinel wants a file for what it learns. */
function emptyFile(path: string): string {
  writeFileSync(path, "");
  return path;
}

/** The id of the server process that answers on the port; undefined when nobody does yet. */
function processAt(port: number, password: string | undefined): Promise<number | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    let text = "";
    socket.on("connect", () =>
      socket.write(`${password === undefined ? "" : `AUTH ${password}\r\n`}PING\r\nINFO server\r\n`),
    );
    socket.on("data", (bytes) => {
      text += bytes;
      if (/process_id:\d+\r\n/.test(text)) socket.destroy();
    });
    socket.on("error", () => undefined);
    socket.on("close", () => {
      const found = /\+PONG.*process_id:(\d+)\r\n/s.exec(text);
      resolve(found ? Number(found[1]) : undefined);
    });
  });
}
