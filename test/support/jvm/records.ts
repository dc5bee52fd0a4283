import type { Actor, Step } from "../../interop/scenarios.js";
import type { User } from "./lock-user.js";

/** A server, past all clients. Answers as in RESP2. */
export interface Store {
  raw(command: string, ...args: readonly (string | number)[]): Promise<unknown>;
  keys(): Promise<readonly string[]>;
}

/** What a key holds; the scores of a sorted set are times, and told as milliseconds from now. */
export type RecordedKey = {
  readonly type: "string" | "hash" | "list" | "zset";
  readonly value: string | readonly string[] | Readonly<Record<string, string | number>>;
  /** -1 without a TTL. */
  readonly ttlMs: number;
};

export type RecordedKeys = Readonly<Record<string, RecordedKey>>;

/** What somebody is told of a lock: isLocked, isHeldByThread, getHoldCount, remainTimeToLive. */
export type Seen = readonly [boolean, boolean, number, number];

/** What became of a step. Holders are told by the letters of the actors. */
export interface RecordedStep {
  readonly step: string;
  /** What the call brought; null when it goes on. */
  readonly answer: string | null;
  readonly keys: RecordedKeys;
  /** As `message -> channel`. */
  readonly messages: readonly string[];
  /** By whoever does not wait. Not of several locks as one, of which Redisson tells nothing. */
  readonly seen: Readonly<Partial<Record<Actor, Seen>>>;
}

/** Nothing here takes so long that a rounded time could come out differently. */
const ROUND_MS = 10_000;

export function describeStep({ by, does, lock, leaseMs, waitMs }: Step): string {
  const times = [
    leaseMs === undefined ? "" : ` leaseMs=${leaseMs}`,
    waitMs === undefined ? "" : ` waitMs=${waitMs}`,
  ];
  return `${by} ${does} (${lock.kind})${times.join("")}`;
}

/** Which holder stands for which actor. */
export class Cast {
  readonly #holders: ReadonlyMap<Actor, string>;

  constructor(holders: ReadonlyMap<Actor, string>) {
    this.#holders = holders;
  }

  /** The letters for the holders. */
  toLetters(text: string): string {
    let letters = text;
    for (const [actor, holder] of this.#holders) letters = letters.replaceAll(holder, `<${actor}>`);
    return letters;
  }

  /** The holders for the letters. */
  toHolders(letters: string): string {
    return letters.replaceAll(/<([A-Z])>/g, (_, actor: Actor) => this.#holders.get(actor) ?? actor);
  }
}

/** What is stored, but for the latches of unlocks, which concern nobody but their JVM, and our own keys. */
export async function recordKeys(store: Store, cast: Cast): Promise<RecordedKeys> {
  const names = (await store.keys()).filter((key) => !/^(redisson_unlock_latch|holdfast_)/.test(key));
  const keys = await Promise.all(
    names.map(async (name) => [cast.toLetters(name), await recordKey(store, name, cast)] as const),
  );
  return sorted(keys);
}

async function recordKey(store: Store, name: string, cast: Cast): Promise<RecordedKey> {
  const type = String(await store.raw("TYPE", name)) as RecordedKey["type"];
  const ttlMs = rounded(Number(await store.raw("PTTL", name)));
  const clean = (text: unknown) => cast.toLetters(String(text));
  switch (type) {
    case "string":
      return { type, value: clean(await store.raw("GET", name)), ttlMs };
    case "list":
      return { type, value: ((await store.raw("LRANGE", name, 0, -1)) as unknown[]).map(clean), ttlMs };
    case "hash":
      return { type, value: paired((await store.raw("HGETALL", name)) as unknown[], clean, String), ttlMs };
    case "zset": {
      const nowMs = await timeOf(store);
      const flat = ((await store.raw("ZRANGE", name, 0, -1, "WITHSCORES")) as unknown[]).flat();
      return { type, value: paired(flat, clean, (score) => rounded(Number(score) - nowMs)), ttlMs };
    }
  }
}

function paired<T>(
  flat: readonly unknown[],
  toName: (field: unknown) => string,
  toValue: (value: unknown) => T,
): Readonly<Record<string, T>> {
  const pairs = flat.flatMap((field, at) =>
    at % 2 === 0 ? [[toName(field), toValue(flat[at + 1])] as const] : [],
  );
  return sorted(pairs);
}

export function sorted<T>(pairs: readonly (readonly [string, T])[]): Readonly<Record<string, T>> {
  return Object.fromEntries([...pairs].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The time of the server in milliseconds. */
export async function timeOf(store: Store): Promise<number> {
  const [seconds, micros] = (await store.raw("TIME")) as unknown[];
  return Number(seconds) * 1_000 + Number(micros) / 1_000;
}

export function rounded(ms: number): number {
  return ms < 0 ? ms : Math.ceil(ms / ROUND_MS) * ROUND_MS;
}

/** Makes the server hold what is recorded, and of all else only our own keys. */
export async function restoreKeys(store: Store, cast: Cast, keys: RecordedKeys): Promise<void> {
  for (const name of await store.keys()) if (!name.startsWith("holdfast_")) await store.raw("DEL", name);
  const nowMs = await timeOf(store);
  for (const [letters, { type, value, ttlMs }] of Object.entries(keys)) {
    const name = cast.toHolders(letters);
    await store.raw(...writing(name, type, value, (text) => cast.toHolders(String(text)), nowMs));
    if (ttlMs >= 0) await store.raw("PEXPIRE", name, ttlMs);
  }
}

function writing(
  name: string,
  type: RecordedKey["type"],
  value: RecordedKey["value"],
  textOf: (text: unknown) => string,
  nowMs: number,
): readonly [string, string, ...(string | number)[]] {
  if (type === "string") return ["SET", name, textOf(value)];
  if (type === "list") return ["RPUSH", name, ...(value as readonly string[]).map(textOf)];
  const pairs = Object.entries(value);
  if (type === "hash")
    return ["HSET", name, ...pairs.flatMap(([field, count]) => [textOf(field), String(count)])];
  return ["ZADD", name, ...pairs.flatMap(([member, ms]) => [Math.floor(nowMs) + Number(ms), textOf(member)])];
}

/** Somebody who takes part. */
export class Player {
  readonly user: User;
  #waiting: Promise<string> | undefined;

  constructor(user: User) {
    this.user = user;
  }

  get waits(): boolean {
    return this.#waiting !== undefined;
  }

  /** Does a step. Resolves with what it brought, or null when that is not known yet. */
  async act(step: Step): Promise<string | null> {
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

  async see({ lock }: Step): Promise<Seen> {
    const { user } = this;
    return [
      await user.isLocked(lock),
      await user.isHeld(lock),
      await user.holdCount(lock),
      rounded(await user.ttlMs(lock)),
    ];
  }

  async #call(step: Step): Promise<string> {
    try {
      return await this.#bring(step);
    } catch (error) {
      const refusal = this.user.refusal(error);
      if (refusal === undefined) throw error;
      return refusal;
    }
  }

  async #bring({ does, lock, leaseMs, waitMs }: Step): Promise<string> {
    switch (does) {
      case "lock":
        return `held ${(await this.user.lock(lock, leaseMs)) ?? ""}`.trim();
      case "unlock":
        await this.user.unlock(lock);
        return "released";
      case "forceUnlock":
        return String(await this.user.forceUnlock(lock));
      default:
        if (does === "waits" && waitMs === undefined)
          return `held ${(await this.user.lock(lock, leaseMs)) ?? ""}`.trim();
        return String(
          await this.user.tryLock(lock, {
            ...(waitMs === undefined ? {} : { waitMs }),
            ...(leaseMs === undefined ? {} : { leaseMs }),
          }),
        );
    }
  }
}
