import type { Redis } from "ioredis";
import { systemClock } from "../../../src/clock.js";
import { ServerReplyError } from "../../../src/driver/driver.js";
import { bytesOfArray, readableBytes } from "../../../src/memory/byte-strings.js";
import { MemoryServer, type Snapshot } from "../../../src/memory/index.js";
import type { RawReply, ScriptCall } from "../../../src/protocol/script-call.js";
import { withBytes, withoutBytes } from "./bytes-in-names.js";
import { isReference } from "./redis-program.js";
import type { RedisServer } from "./redis-server.js";
import { workerServer } from "./worker-server.js";

/** What one server did in one step. */
export interface Effect {
  /** An error counts as a reply: its message, or its code where that is worded otherwise. */
  readonly reply: unknown;
  readonly messages: readonly string[];
  readonly keyspace: unknown;
}

/** A script, or the words of a command. */
export type Action = ScriptCall | readonly string[];

export const LISTENED = ["channel one", "channel two"] as const;

/** Announces that all messages of a step have arrived. */
const END_OF_STEP = "end of step";

/** In 2001: what scripts count is less. */
const LEAST_TIME_MS = 1_000_000_000_000;

/** Everything that is stored, in the form of `MemoryServer.dump`. */
const DUMP = `
  local seen = {}
  for i, key in ipairs(redis.call("KEYS", "*")) do
    local kind = redis.call("TYPE", key).ok
    local value
    if kind == "string" then value = redis.call("GET", key)
    elseif kind == "hash" then value = redis.call("HGETALL", key)
    elseif kind == "list" then value = redis.call("LRANGE", key, 0, -1)
    else value = redis.call("ZRANGE", key, 0, -1, "WITHSCORES") end
    seen[i] = { key, kind, redis.call("PTTL", key), value }
  end
  return seen`;

/** A real server and an embedded one that are to do the same. */
export class ServerPair {
  /** When the real one has run the script that is run now; undefined: now. */
  #scriptMs: number | undefined;
  readonly memory: MemoryServer = new MemoryServer({
    clock: { ...systemClock, wallMs: () => this.#scriptMs ?? systemClock.wallMs() },
  });
  readonly #redis: RedisServer;
  readonly #client: Redis;
  readonly #heardOnRedis: string[] = [];
  readonly #heardOnMemory: string[] = [];
  #stepEnded: () => void = () => undefined;

  /** @param listened channels whose messages are compared */
  static async start(listened: readonly string[] = LISTENED): Promise<ServerPair> {
    const pair = new ServerPair(await workerServer());
    await pair.#listen(listened);
    return pair;
  }

  private constructor(redis: RedisServer) {
    this.#redis = redis;
    this.#client = redis.client();
  }

  /** Deletes all keys of both. */
  async flush(): Promise<void> {
    await this.full(false);
    await this.#client.flushall();
    this.memory.flush();
  }

  /** Both are at their `maxmemory` from now on, or are not. */
  async full(isFull: boolean): Promise<void> {
    await this.#client.config("SET", "maxmemory", isFull ? "1" : "0");
    this.memory.full(isFull);
  }

  /** Does the same on both. */
  async step(action: Action): Promise<{ readonly redis: Effect; readonly memory: Effect }> {
    const sent = withBytes(action);
    const redis = await this.#onRedis(sent);
    // What a script stores may be sorted by time: with times of their own, two clients could be in another order on each.
    this.#scriptMs = "script" in action ? serverMsOf(redis.reply) : undefined;
    return { redis, memory: await this.#onMemory(sent) };
  }

  /** What is stored on the embedded one. */
  stored(): Snapshot {
    return withoutBytes(this.memory.dump());
  }

  async stop(): Promise<void> {
    await this.flush();
    await this.#redis.stop();
  }

  async #listen(channels: readonly string[]): Promise<void> {
    const subscriber = this.#redis.client();
    subscriber.on("message", (channel, message) => {
      if (channel === END_OF_STEP) this.#stepEnded();
      else this.#heardOnRedis.push(`${channel}: ${message}`);
    });
    await subscriber.subscribe(...channels, END_OF_STEP);
    for (const channel of channels) {
      this.memory.subscribe(channel, (message) => this.#heardOnMemory.push(`${channel}: ${message}`));
    }
  }

  async #onRedis(action: Action): Promise<Effect> {
    const ended = new Promise<void>((resolve) => {
      this.#stepEnded = resolve;
    });
    const words =
      "script" in action
        ? ["EVAL", action.script.lua, String(action.keys.length), ...action.keys, ...action.args]
        : action;
    const [name = "", ...args] = words;
    const answers = await this.#client
      .pipeline()
      .call(name, ...args)
      .callBuffer("EVAL", DUMP, "0")
      .publish(END_OF_STEP, "")
      .exec();
    await ended;
    const [[error, reply] = [], [dumpError, dump] = []] = answers ?? [];
    if (dumpError) throw dumpError;
    const keyspace = (readable(dump) as KeyDump[]).map(keySnapshot);
    return {
      reply: error ? wordsOf(error.message) : withWords(reply),
      messages: this.#heardOnRedis.splice(0),
      keyspace: withoutBytes(Object.fromEntries(keyspace)),
    };
  }

  async #onMemory(action: Action): Promise<Effect> {
    let reply: RawReply;
    try {
      if ("script" in action) reply = this.memory.evaluate(action.script, action.keys, action.args);
      else reply = this.memory.command(action[0] ?? "", ...action.slice(1));
    } catch (error) {
      if (!(error instanceof ServerReplyError)) throw error;
      reply = wordsOf(error.message);
    } finally {
      this.#scriptMs = undefined;
    }
    await new Promise(setImmediate);
    return { reply: withWords(reply), messages: this.#heardOnMemory.splice(0), keyspace: this.stored() };
  }
}

/** The time with which scripts begin their answer, if this one does. */
function serverMsOf(reply: unknown): number | undefined {
  const [first] = Array.isArray(reply) ? reply : [];
  return typeof first === "number" && first > LEAST_TIME_MS ? first : undefined;
}

function wordsOf(error: string): string {
  return isReference() ? error : `${new ServerReplyError(error).code} …`;
}

/** A script that is refused a write answers with the error: `["refused", "OOM …"]`. */
function withWords(reply: unknown): unknown {
  if (!Array.isArray(reply)) return reply;
  const [answer, error] = reply;
  if (answer === "refused" && typeof error === "string") return [answer, wordsOf(error)];
  return reply.map(withWords);
}

function readable(reply: unknown): unknown {
  if (Buffer.isBuffer(reply)) return readableBytes(bytesOfArray(reply));
  return Array.isArray(reply) ? reply.map(readable) : reply;
}

type KeyDump = [key: string, type: string, ttlMs: number, value: string | string[]];

function keySnapshot([key, type, ttlMs, value]: KeyDump): [string, unknown] {
  if (typeof value === "string" || type === "list") return [key, { type, ttlMs, value }];
  const pairs = value.flatMap((name, at) => {
    if (at % 2 !== 0) return [];
    const text = value[at + 1] ?? "";
    return [[name, type === "zset" ? Number(text.replace("inf", "Infinity")) : text]];
  });
  return [key, { type, ttlMs, value: Object.fromEntries(pairs) }];
}
