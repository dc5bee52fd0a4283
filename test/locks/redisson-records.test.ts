import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { newest, releases } from "../../scripts/redisson.mjs";
import {
  fairQueueKey,
  fairTimeoutsKey,
  lockChannel,
  rwChannel,
  waiterChannel,
} from "../../src/protocol/names.js";
import { type Actor, type Difference, type Step, scenarios } from "../interop/scenarios.js";
import { ObservedDriver } from "../support/drivers/observed-driver.js";
import { NodeUser } from "../support/jvm/lock-user.js";
import { lockRecords } from "../support/jvm/record-files.js";
import {
  Cast,
  Player,
  type RecordedKey,
  type RecordedStep,
  recordKeys,
  restoreKeys,
} from "../support/jvm/records.js";
import type { RedissonLockName } from "../support/jvm/redisson.js";
import { backends, type OpenBackend, openedFor } from "../support/servers/backends.js";
import { root } from "../support/tidy/tree.js";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const JVM = "3f0c5f9e-6f1d-4a53-9b0e-0c1d2e3f4a5b";

const parts = lockRecords.all(scenarios).flatMap((recorded) => {
  const actors = [...new Set(recorded.scenario.steps.map(({ by }) => by))];
  return actors.map((ours) => ({
    ...recorded,
    ours,
    title: `${recorded.scenario.title}, where ${ours} is ours (Redisson ${recorded.releases.join(", ")})`,
  }));
});

const fairLocks = scenarios
  .flatMap(({ steps }) => steps.flatMap(({ lock }) => [lock, ...(lock.members ?? [])]))
  .filter(({ kind }) => kind.endsWith("fair"));

test("what is done otherwise is in redisson-differences.md", () => {
  const page = readFileSync(join(root, "docs/reference/redisson-differences.md"), "utf8");
  const rows = scenarios.flatMap(({ steps }) => steps.flatMap(({ ours }) => ours?.row ?? []));
  expect(rows).not.toEqual([]);
  expect([...new Set(rows)].filter((row) => !page.includes(`\n| ${row} | `))).toEqual([]);
});

test("all scenarios are recorded, for all releases that have the kind of lock", () => {
  expect([...lockRecords.releases].sort()).toEqual([...releases].sort());
  expect(Object.keys(lockRecords.of(newest)).sort()).toEqual(scenarios.map(({ title }) => title).sort());
});

describe.each(backends)("with what Redisson has left behind, on $name", (backend) => {
  const server = openedFor(backend);

  test.each(parts)("$title", async ({ scenario, steps, ours }) => {
    await new Replay(server(), ours).play(scenario.steps, steps);
    await server().flush();
  });
});

/** One actor is ours, and does what it did in a JVM; what the others did is taken from the records. */
class Replay {
  readonly #server: OpenBackend;
  readonly #ours: Actor;
  readonly #player: Player;
  readonly #cast: Cast;

  constructor(server: OpenBackend, ours: Actor) {
    this.#server = server;
    this.#ours = ours;
    let driver: ObservedDriver | undefined;
    const client = server.client(
      // A server that is slow, since the machine is busy, is not away.
      { safetyPeriodMs: HOUR_MS, redMemberTimeoutMs: 3_000 },
      (inner) => (driver = new ObservedDriver(inner)),
    );
    if (driver === undefined) throw new TypeError("the client has no driver");
    const user = NodeUser.of(client, driver);
    this.#player = new Player(user);
    const holders = (["A", "B", "C"] as const).map((actor, at) => [actor, `${JVM}:${at + 50}`] as const);
    this.#cast = new Cast(new Map([...holders, [ours, user.holder]]));
  }

  async play(steps: readonly Step[], recorded: readonly RecordedStep[]): Promise<void> {
    const channels = [...new Set(steps.flatMap(({ lock }) => channelsOf(lock)))];
    const heard = await Promise.all(channels.map((channel) => this.#listen(channel)));
    const published = () =>
      heard.flatMap((messages, at) =>
        messages.map((message) => `${this.#cast.toLetters(message)} -> ${channels[at]}`),
      );
    const wanted: string[] = [];
    for (const [at, step] of steps.entries()) {
      const record = recorded[at];
      if (record === undefined) throw new Error(`there is no record of step ${at + 1}`);
      const expected = step.by === this.#ours ? ourOwn(step, record) : record;
      wanted.push(...expected.messages);
      if (step.by === this.#ours) await this.#act(step, withQueuesKept(expected));
      else await this.#take(record);
      const message = `messages of ${record.step}`;
      await expect.poll(() => published().sort(), { message, interval: 1 }).toEqual([...wanted].sort());
      const seen = expected.seen[this.#ours];
      if (seen !== undefined) expect(await this.#player.see(step), `seen after ${record.step}`).toEqual(seen);
    }
    // A message too many would have come before these.
    for (const channel of channels) await this.#server.raw("PUBLISH", this.#cast.toHolders(channel), "end");
    wanted.push(...channels.map((channel) => `end -> ${channel}`));
    await expect
      .poll(() => published().sort(), { message: "all messages", interval: 1 })
      .toEqual(wanted.sort());
  }

  async #listen(channel: string): Promise<readonly string[]> {
    return this.#server.listen(this.#cast.toHolders(channel));
  }

  async #act(step: Step, expected: RecordedStep): Promise<void> {
    expect(await this.#player.act(step), `answer of ${expected.step}`).toBe(expected.answer);
    // Who gives up does not wait until it has left a queue.
    const message = `keys after ${expected.step}`;
    const keys = () => recordKeys(this.#server, this.#cast);
    await expect.poll(keys, { message, interval: 1 }).toEqual(expected.keys);
  }

  async #take({ keys, messages }: RecordedStep): Promise<void> {
    await restoreKeys(this.#server, this.#cast, keys);
    for (const entry of messages) {
      const [message = "", channel = ""] = entry.split(" -> ");
      await this.#server.raw("PUBLISH", this.#cast.toHolders(channel), this.#cast.toHolders(message));
    }
  }
}

/** All on which something about a lock may be published. */
function channelsOf({ name, members = [] }: RedissonLockName): readonly string[] {
  const lock = lockChannel(name);
  const waiters = ["<A>", "<B>", "<C>"].map((waiter) => waiterChannel(lock, waiter));
  return [lock, ...waiters, rwChannel(name), ...members.flatMap(channelsOf)];
}

/** What is to come of a step that one of ours does. */
function ourOwn({ ours }: Step, record: RecordedStep): RecordedStep {
  if (ours === undefined) return record;
  const { answer = record.answer, messages = record.messages, clean = false, ttlMs } = ours;
  const keys = Object.entries(clean ? {} : record.keys).map(
    ([name, key]) => [name, ourKey(key, ours)] as const,
  );
  const seen = Object.entries(record.seen).map(
    ([actor, [locked, held, count, ms]]) =>
      [actor, [locked, held, count, ms < 0 ? ms : (ttlMs ?? ms)] as const] as const,
  );
  const expected: RecordedStep = {
    ...record,
    answer,
    messages,
    keys: Object.fromEntries(keys),
    seen: Object.fromEntries(seen),
  };
  expect(expected, `what is done otherwise in ${record.step}`).not.toEqual(record);
  return expected;
}

/** What ours do lets the queue of a fair lock, and its scores, live for a day longer than the highest score. */
function withQueuesKept(record: RecordedStep): RecordedStep {
  const keys = { ...record.keys };
  for (const { name } of fairLocks) {
    const [queue, timeouts] = [keys[fairQueueKey(name)], keys[fairTimeoutsKey(name)]];
    if (queue === undefined || timeouts === undefined) continue;
    const ttlMs = DAY_MS + Math.max(...Object.values(timeouts.value as Record<string, number>));
    keys[fairQueueKey(name)] = { ...queue, ttlMs };
    keys[fairTimeoutsKey(name)] = { ...timeouts, ttlMs };
  }
  return { ...record, keys };
}

function ourKey(key: RecordedKey, { ttlMs, scoresMs = {} }: Difference): RecordedKey {
  if (key.type === "hash" && ttlMs !== undefined) return { ...key, ttlMs };
  if (key.type !== "zset") return key;
  const scores = Object.entries(scoresMs).map(([actor, ms]) => [`<${actor}>`, ms] as const);
  return { ...key, value: { ...(key.value as object), ...Object.fromEntries(scores) } };
}
