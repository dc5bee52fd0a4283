import { createHash, randomBytes } from "node:crypto";
import { permitLeasesKey } from "../../../src/protocol/names.js";
import type { ScriptSource } from "../../../src/protocol/script-call.js";
import { type Happening, isHappening, type SynchronizerStep } from "../../interop/synchronizer-steps.js";
import { type RecordedKey, type RecordedKeys, rounded, type Store, sorted, timeOf } from "./records.js";
import type { RedissonSynchronizerName } from "./redisson.js";
import type { Answer, Method, SynchronizerUser } from "./synchronizer-user.js";

/** A store that runs scripts, as ids of permits are bytes that are no text. */
export interface ScriptedStore extends Store {
  evaluate(script: ScriptSource, keys: readonly string[], args: readonly string[]): Promise<unknown>;
}

/** What became of a step. Ids of permits are told as `<1>`, `<2>` …, in the order in which they were granted. */
export interface RecordedStep {
  readonly step: string;
  /** What the call brought; null when it goes on. */
  readonly answer: string | null;
  readonly keys: RecordedKeys;
  /** As `message -> channel`. */
  readonly messages: readonly string[];
}

/** The score of a permit that does not expire. */
const PERMANENT = 922_337_203_685_477;
const EXPIRED_SINCE_MS = 60_000;

export function describeStep({ by, does, on, ours: _, ...options }: SynchronizerStep): string {
  const told = Object.entries(options).map(
    ([option, value]) => ` ${option}=${Array.isArray(value) ? `[${value}]` : value}`,
  );
  return `${by} ${does} (${on.kind})${told.join("")}`;
}

/** Which id stands for which letters. */
export class PermitIds {
  readonly #ids: string[] = [];

  /** New letters for new ids. */
  toLetters(ids: readonly string[]): readonly string[] {
    return ids.map((id) => {
      if (!this.#ids.includes(id)) this.#ids.push(id);
      return `<${this.#ids.indexOf(id) + 1}>`;
    });
  }

  /** An id is made up for letters that nobody has been granted. */
  toId(letters: string): string {
    const at = Number(/^<(\d+)>$/.exec(letters)?.[1]) - 1;
    while (this.#ids.length <= at) this.#ids.push(randomBytes(16).toString("hex"));
    return this.#ids[at] ?? letters;
  }
}

/** What is stored, but for our own keys. */
export async function recordKeys(store: ScriptedStore, ids: PermitIds): Promise<RecordedKeys> {
  const names = (await store.keys()).filter((key) => !key.startsWith("holdfast_"));
  const keys = await Promise.all(
    names.map(async (name) => [name, await recordKey(store, name, ids)] as const),
  );
  return sorted(keys);
}

async function recordKey(store: ScriptedStore, name: string, ids: PermitIds): Promise<RecordedKey> {
  const type = String(await store.raw("TYPE", name));
  const ttlMs = rounded(Number(await store.raw("PTTL", name)));
  if (type === "string") return { type, value: String(await store.raw("GET", name)), ttlMs };
  if (type === "zset") return { type, value: await permitsOf(store, name, ids), ttlMs };
  throw new TypeError(`${name} is a ${type}`);
}

/** How long each permit is held, in milliseconds. */
async function permitsOf(
  store: ScriptedStore,
  name: string,
  ids: PermitIds,
): Promise<Readonly<Record<string, string | number>>> {
  const nowMs = await timeOf(store);
  const pairs = (await store.evaluate(look, [name], [])) as readonly (readonly [number[], string])[];
  return sorted(
    pairs.map(([bytes, score]) => {
      const id = Buffer.from(bytes).toString("hex");
      return [String(ids.toLetters([id])), told(Number(score), nowMs)] as const;
    }),
  );
}

function told(score: number, nowMs: number): string | number {
  if (score === PERMANENT) return "permanent";
  return score <= nowMs ? "expired" : rounded(score - nowMs);
}

function scoreOf(value: string | number, nowMs: number): number {
  if (value === "permanent") return PERMANENT;
  return Math.floor(nowMs) + (value === "expired" ? -EXPIRED_SINCE_MS : Number(value));
}

/** Makes the server hold what is recorded, and of all else only our own keys. */
export async function restoreKeys(store: ScriptedStore, ids: PermitIds, keys: RecordedKeys): Promise<void> {
  for (const name of await store.keys()) if (!name.startsWith("holdfast_")) await store.raw("DEL", name);
  const nowMs = await timeOf(store);
  for (const [name, { type, value, ttlMs }] of Object.entries(keys)) {
    if (type === "string") await store.raw("SET", name, String(value));
    else {
      const permits = Object.entries(value as Readonly<Record<string, string | number>>);
      const args = permits.flatMap(([letters, held]) => [String(scoreOf(held, nowMs)), ids.toId(letters)]);
      await store.evaluate(write, [name], args);
    }
    if (ttlMs >= 0) await store.raw("PEXPIRE", name, ttlMs);
  }
}

/** Lets happen what is nobody's doing. */
export async function letHappen(
  store: ScriptedStore,
  does: Happening,
  { on, ttlMs = 0 }: SynchronizerStep,
): Promise<void> {
  switch (does) {
    case "is to end":
      await store.raw("PEXPIRE", on.name, ttlMs);
      break;
    case "is gone":
      await store.raw("DEL", on.name);
      break;
    case "leases end": {
      const past = Math.floor(await timeOf(store)) - EXPIRED_SINCE_MS;
      await store.evaluate(end, [permitLeasesKey(on.name)], [String(past)]);
    }
  }
}

const look = script(
  "look",
  `local found = {}
  local flat = redis.call("ZRANGE", KEYS[1], 0, -1, "WITHSCORES")
  for i = 1, #flat, 2 do
    found[#found + 1] = { { string.byte(flat[i], 1, -1) }, flat[i + 1] }
  end
  return found`,
);

const write = script(
  "write",
  `for i = 1, #ARGV, 2 do
    local id = string.gsub(ARGV[i + 1], "..", function(hex) return string.char(tonumber(hex, 16)) end)
    redis.call("ZADD", KEYS[1], ARGV[i], id)
  end
  return 1`,
);

const end = script(
  "end",
  `for _, id in ipairs(redis.call("ZRANGE", KEYS[1], 0, -1)) do redis.call("ZADD", KEYS[1], ARGV[1], id) end
  return 1`,
);

function script(name: string, lua: string): ScriptSource {
  return { name: `test-${name}`, lua, sha1: createHash("sha1").update(lua).digest("hex") };
}

/** Somebody who takes part. */
export class SynchronizerPlayer {
  readonly user: SynchronizerUser;
  readonly #ids: PermitIds;
  #waiting: Promise<string> | undefined;

  constructor(user: SynchronizerUser, ids: PermitIds) {
    this.user = user;
    this.#ids = ids;
  }

  get waits(): boolean {
    return this.#waiting !== undefined;
  }

  /** Does a step. Resolves with what it brought, or null when that is not known yet. */
  async act(step: SynchronizerStep): Promise<string | null> {
    if (step.does === "waits") {
      this.#waiting = this.#call(step);
      await this.user.waits();
      return null;
    }
    if (step.does !== "is answered") return this.#call(step);
    const answer = await this.#waiting;
    this.#waiting = undefined;
    return answer ?? null;
  }

  async #call({ by: _, does, on, ours: __, permitIds, ...options }: SynchronizerStep): Promise<string> {
    const ids =
      typeof permitIds === "string" ? this.#ids.toId(permitIds) : permitIds?.map((id) => this.#ids.toId(id));
    try {
      const answer = await this.user.call(on, methodOf(does, on, options.waitMs), {
        ...options,
        ...(ids === undefined ? {} : { permitIds: ids }),
      });
      return this.#told(answer, does);
    } catch (error) {
      const refusal = this.user.refusal(error);
      if (refusal === undefined) throw error;
      return refusal;
    }
  }

  #told(answer: Answer, does: SynchronizerStep["does"]): string {
    if (typeof answer === "boolean") return String(answer);
    if (typeof answer === "number") return String(does === "getLeaseTime" ? rounded(answer) : answer);
    return answer.length === 0 ? "none" : this.#ids.toLetters(answer).join(" ");
  }
}

/** Who waits calls the method that does. */
function methodOf(
  does: SynchronizerStep["does"],
  { kind }: RedissonSynchronizerName,
  waitMs?: number,
): Method {
  if (isHappening(does) || does === "is answered") throw new TypeError(`nobody calls "${does}"`);
  if (does !== "waits") return does;
  if (kind === "count-down-latch") return "await";
  return waitMs === undefined ? "acquire" : "tryAcquire";
}
