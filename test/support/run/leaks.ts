import { subscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import type { Redis } from "ioredis";
import { afterEach, beforeEach } from "vitest";
import { isRequestKey } from "../servers/request-keys.js";
import { belongsToServerClient } from "../servers/server-clients.js";

/** What is open now. */
export interface OpenThings {
  /** Timers and sockets, each with the place where it was made. */
  readonly things: ReadonlyMap<object, string>;
  readonly processes: number;
}

/** What was just closed needs a few turns of the event loop until it is. */
const GRACE_MS = 1_000;

/** How many lines of a stack are shown. */
const PLACES = 4;

const timers = new Map<object, Error>();
const sockets = new Map<Socket, Error>();
watchTimers();
watchSockets();

export interface LeakWatch {
  /** A client of the server on which no key may stay behind. Asked anew after each test. */
  readonly keys?: () => Redis | undefined;
}

/**
 * Fails each test of the file after which a socket, a timer, a child process or a key is left that was not there
 * before it. Also finds what was unreferenced, but lets the clients of a `RedisServer` be, which that closes. To be
 * called before other hooks of the kind, so that it looks after those have tidied up.
 */
export function watchLeaks({ keys }: LeakWatch = {}): void {
  let before = openThings();
  beforeEach(() => {
    before = openThings();
  });
  afterEach(async () => {
    const leaks = await findLeaks(before);
    const client = keys?.();
    if (client !== undefined) leaks.push(...(await keysOf(client)));
    if (leaks.length > 0) throw new Error(`left behind by the test:\n- ${leaks.join("\n- ")}`);
  });
}

export function openThings(): OpenThings {
  const things = new Map<object, string>();
  for (const [timer, made] of timers) things.set(timer, `a timer made ${placeOf(made)}`);
  for (const [socket, made] of sockets) {
    if (socket.destroyed) sockets.delete(socket);
    else if (!belongsToServerClient(socket))
      things.set(socket, `a socket to ${socket.remotePort ?? "nobody"} made ${placeOf(made)}`);
  }
  const processes = process.getActiveResourcesInfo().filter((name) => name === "ProcessWrap").length;
  return { things, processes };
}

/** Descriptions of what is open now and was not before; empty as soon as there is nothing of the kind. */
export async function findLeaks(before: OpenThings, graceMs: number = GRACE_MS): Promise<string[]> {
  const deadlineMs = performance.now() + graceMs;
  for (;;) {
    const { things, processes } = openThings();
    const leaks = [...things].filter(([thing]) => !before.things.has(thing)).map(([, text]) => text);
    if (processes > before.processes) leaks.push("a child process");
    if (leaks.length === 0 || performance.now() > deadlineMs) return leaks;
    await new Promise(setImmediate);
  }
}

async function keysOf(client: Redis): Promise<string[]> {
  const names = (await client.keys("*")).filter((name) => !isRequestKey(name));
  // So that one test that leaves something does not fail all that follow.
  if (names.length > 0) await client.flushall();
  return names.map((name) => `the key "${name}"`);
}

/** Node only counts timers that keep the process alive, and ours do not. So note each one from birth to end. */
function watchTimers(): void {
  const { setTimeout, setInterval, clearTimeout, clearInterval } = globalThis;
  const noted = (timer: object): object => {
    timers.set(timer, new Error("made"));
    return timer;
  };
  Object.assign(globalThis, {
    setTimeout: Object.assign(
      (callback: (...args: unknown[]) => void, delayMs?: number, ...args: unknown[]) => {
        const timer = setTimeout(() => {
          timers.delete(timer);
          callback(...args);
        }, delayMs);
        return noted(timer);
      },
      setTimeout,
    ),
    setInterval: (callback: (...args: unknown[]) => void, delayMs?: number, ...args: unknown[]) =>
      noted(setInterval(callback, delayMs, ...args)),
    clearTimeout: (timer: NodeJS.Timeout | undefined) => {
      if (timer !== undefined) timers.delete(timer);
      clearTimeout(timer);
    },
    clearInterval: (timer: NodeJS.Timeout | undefined) => {
      if (timer !== undefined) timers.delete(timer);
      clearInterval(timer);
    },
  });
}

function watchSockets(): void {
  const note = (message: unknown) => {
    if (!isSocketMessage(message)) return;
    sockets.set(message.socket, new Error("made"));
    message.socket.once("close", () => sockets.delete(message.socket));
  };
  for (const name of ["net.client.socket", "net.server.socket"]) subscribe(name, note);
}

function isSocketMessage(message: unknown): message is { readonly socket: Socket } {
  return typeof message === "object" && message !== null && "socket" in message;
}

/** The first lines of code, from the inside out, that led to something. */
function placeOf(made: Error): string {
  const frames = made.stack?.split("\n").slice(1) ?? [];
  const places = frames.filter((frame) => !frame.includes("/leaks.ts") && !frame.includes("node:"));
  return places.length === 0
    ? "somewhere"
    : places
        .slice(0, PLACES)
        .map((frame) => frame.trim())
        .join(" ");
}
