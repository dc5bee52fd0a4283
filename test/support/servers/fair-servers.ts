import { setImmediate as turn } from "node:timers/promises";
import { MemoryServer } from "../../../src/memory/index.js";
import type { Answered, Script } from "../../../src/protocol/define-script.js";
import type { Dialect } from "../../../src/protocol/dialect.js";
import { fairTimes } from "../../../src/protocol/fair-scripts.js";
import type { RawReply } from "../../../src/protocol/script-call.js";
import {
  ALIVE,
  clientIdOf,
  JVM_1,
  JVM_2,
  QUEUE,
  queueOf,
  type Raw,
  TIMEOUTS,
  WAITER_CHANNEL,
} from "../models/fair-queue.js";
import { workerServer } from "./worker-server.js";

/** Where those who wait for the lock "a" listen, without the holder that each adds. */
export const CHANNEL = "redisson_lock__channel:{a}";
/** The keys of the lock "a" and the types that they have. */
export const PARTS = [
  ["a", "hash"],
  [QUEUE, "list"],
  [TIMEOUTS, "zset"],
  [ALIVE, "zset"],
] as const;

/** Threads of ours. */
export const A = "c0000000-0000-8001-8000-000000000000:1";
export const B = "c0000000-0000-8001-8000-000000000000:2";
export const C = "d0000000-0000-8001-8000-000000000000:1";
/** Of ours as well, but of another grant protocol. */
export const OTHER_PROTOCOL = "e0000000-0000-8002-8000-000000000000:1";

/** By how much our scores are behind those of the predecessor, or behind now. */
export const SCORE_MS: number = fairTimes.waitMs + fairTimes.horizonMs;
/** The queue and the scores live for so much longer than the highest score. */
export const DAY_MS = 24 * 60 * 60 * 1_000;
/** A busy machine may take as long as this from a script to a look at a TTL. */
export const SLACK_MS = 20_000;

/** A server on which scripts are run one by one. */
export interface FairServer {
  readonly raw: Raw;
  run<Input, Reply>(script: Script<Input, Reply>, input: Input, dialect?: Dialect): Promise<Answered<Reply>>;
  /**
   * What was published to those who wait for "a" since this was last asked: `[holder, message]`. On the channel of a client each message
   * begins with the thread id of the waiter.
   */
  heard(): Promise<readonly (readonly [string, string])[]>;
  /** The server is at its `maxmemory` from now on, or no longer. */
  full(isFull: boolean): Promise<void>;
  close(): Promise<void>;
}

export const fairServers: readonly { readonly name: string; open(): Promise<FairServer> }[] = [
  { name: "redis-server", open: openRedis },
  { name: "the embedded server", open: openMemory },
];

const LISTENING = [A, B, C, OTHER_PROTOCOL, JVM_1, JVM_2];
/** What is behind the channel of the lock in those that waiters listen to: their holders, and the ids of clients of ours. */
const LISTENED = [...LISTENING, ...new Set([A, B, C].map((holder) => clientIdOf(holder)))];

/** @param listened what is behind the lock's channel */
function heardBy(listened: string, message: string): readonly [string, string] {
  const [, threadId, untilMs] = /^(\d+):(\d+)$/.exec(message) ?? [];
  return threadId === undefined ? [listened, message] : [`${listened}:${threadId}`, untilMs ?? ""];
}

async function openRedis(): Promise<FairServer> {
  const server = await workerServer();
  const client = server.client();
  const subscriber = server.client();
  const messages: (readonly [string, string])[] = [];
  const ends = new Map<string, () => void>();
  subscriber.on("message", (channel, message) => {
    if (channel === "end") ends.get(message)?.();
    else messages.push(heardBy(channel.slice(WAITER_CHANNEL.length), message));
  });
  await subscriber.subscribe("end", ...LISTENED.map((listened) => WAITER_CHANNEL + listened));
  return {
    raw: (command, ...args) => client.call(command, ...args) as Promise<RawReply>,
    async run(script, input, dialect) {
      const { script: source, keys, args } = script.encode(input, dialect);
      return script.decode(
        (await client.eval(source.lua, keys.length, ...keys, ...args)) as RawReply,
        keys.length,
      );
    },
    async heard() {
      const name = String(ends.size);
      const ended = new Promise<void>((resolve) => ends.set(name, resolve));
      await client.publish("end", name);
      await ended;
      return messages.splice(0);
    },
    full: async (isFull) => void (await client.config("SET", "maxmemory", isFull ? "1" : "0")),
    async close() {
      await client.config("SET", "maxmemory", "0");
      await client.flushall();
      await server.stop();
    },
  };
}

async function openMemory(): Promise<FairServer> {
  const server = new MemoryServer();
  const messages: (readonly [string, string])[] = [];
  for (const listened of LISTENED)
    server.subscribe(WAITER_CHANNEL + listened, (text) => messages.push(heardBy(listened, text)));
  return {
    raw: (command, ...args) => server.command(command, ...args),
    async run(script, input, dialect) {
      const call = script.encode(input, dialect);
      return script.decode(server.evaluate(call.script, call.keys, call.args), call.keys.length);
    },
    async heard() {
      await turn();
      return messages.splice(0);
    },
    full: async (isFull) => server.full(isFull),
    close: async () => undefined,
  };
}

/** What is stored about the lock "a". Scores are milliseconds since the epoch. */
export interface Stored {
  readonly fields: Readonly<Record<string, string>>;
  readonly queue: readonly string[];
  readonly timeouts: Readonly<Record<string, number>>;
  readonly alive: Readonly<Record<string, number>>;
}

export async function stored({ raw }: FairServer): Promise<Stored> {
  return {
    fields: Object.fromEntries(pairs(await raw("HGETALL", "a"))),
    queue: await queueOf(raw),
    timeouts: scores(await raw("ZRANGE", TIMEOUTS, 0, -1, "WITHSCORES")),
    alive: scores(await raw("ZRANGE", ALIVE, 0, -1, "WITHSCORES")),
  };
}

/** Who has the lock "a", and who waits. */
export async function line(server: FairServer): Promise<Pick<Stored, "fields" | "queue">> {
  const { fields, queue } = await stored(server);
  return { fields, queue };
}

export async function ttlOf({ raw }: FairServer, key: string): Promise<number> {
  return Number(await raw("PTTL", key));
}

/** The keys of the lock "a" as they are, of whatever type, to see that nothing has changed. */
export function contents({ raw }: FairServer): Promise<unknown> {
  return Promise.all(
    PARTS.map(async ([key]) => {
      const type = String(await raw("TYPE", key));
      if (type === "hash") return raw("HGETALL", key);
      if (type === "list") return raw("LRANGE", key, 0, -1);
      if (type === "zset") return raw("ZRANGE", key, 0, -1, "WITHSCORES");
      return raw("GET", key);
    }),
  );
}

async function serverMs(raw: Raw): Promise<number> {
  const [seconds, microseconds] = (await raw("TIME")) as readonly string[];
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
}

/** Lets somebody have the lock. */
export async function holds({ raw }: FairServer, holder: string, count = 1, ttlMs = 60_000): Promise<void> {
  await raw("HSET", "a", holder, count);
  await raw("PEXPIRE", "a", ttlMs);
}

/**
 * Puts somebody at the end of the queue. A score that is not given is missing; it counts from now.
 * @returns now
 */
export async function waits(
  { raw }: FairServer,
  holder: string,
  { timeoutMs, aliveMs }: { readonly timeoutMs?: number; readonly aliveMs?: number } = {},
): Promise<number> {
  const nowMs = await serverMs(raw);
  await raw("RPUSH", QUEUE, holder);
  if (timeoutMs !== undefined) await raw("ZADD", TIMEOUTS, nowMs + timeoutMs, holder);
  if (aliveMs !== undefined) await raw("ZADD", ALIVE, nowMs + aliveMs, holder);
  return nowMs;
}

/** A waiter of ours that lives. */
export const living = { timeoutMs: SCORE_MS, aliveMs: fairTimes.aliveMs * 10 } as const;
/** A waiter of ours that has given no sign of life for too long. */
export const dead = { timeoutMs: SCORE_MS, aliveMs: -1 } as const;

/** Who has the lock, or stands in its queue, before a call comes; and whether such a one may free the lock as a JVM does. */
export const company: readonly (readonly [
  title: string,
  meetsJvm: boolean,
  come: (server: FairServer) => Promise<unknown>,
])[] = [
  ["nobody: ours has it, and ours wait", false, (server) => waits(server, B, living)],
  ["a JVM that is next", true, (server) => waits(server, JVM_1, { timeoutMs: 700_000 })],
  [
    "a JVM behind ours",
    true,
    async (server) => {
      await waits(server, B, living);
      await waits(server, JVM_1, { timeoutMs: 700_000 });
    },
  ],
  ["another protocol's waiter", true, (server) => waits(server, OTHER_PROTOCOL, { timeoutMs: 700_000 })],
  [
    "a JVM that has it",
    true,
    async (server) => {
      await server.raw("DEL", "a");
      await holds(server, JVM_1);
    },
  ],
  ["perhaps one: of ours, one that is dead is not told from a JVM", true, (server) => waits(server, B, dead)],
];

function scores(flat: RawReply): Record<string, number> {
  return Object.fromEntries(pairs(flat).map(([holder, score]) => [holder, Number(score)]));
}

/** Each name with its value, whether the client has paired them or not. */
function pairs(reply: RawReply): [string, string][] {
  if (reply === null || typeof reply !== "object") throw new TypeError(`not a list: ${String(reply)}`);
  const words = reply.flat().map(String);
  return words.flatMap((name, at): [string, string][] => (at % 2 === 0 ? [[name, words[at + 1] ?? ""]] : []));
}
