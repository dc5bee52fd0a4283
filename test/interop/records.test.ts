import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { release, since } from "../support/interop.js";
import { type KeyJournal, keepJournal } from "../support/key-journal.js";
import { JvmUser } from "../support/lock-user.js";
import { recordsOf, writeRecords } from "../support/record-files.js";
import {
  Cast,
  describeStep,
  Player,
  type RecordedStep,
  recordKeys,
  type Seen,
  type Store,
} from "../support/records.js";
import { type RedisServer, startRedis } from "../support/redis-server.js";
import { type Redisson, startRedisson } from "../support/redisson.js";
import { type Actor, type Scenario, scenarios } from "./scenarios.js";

const WRITES = process.env["HOLDFAST_WRITE_RECORDS"] === "1";

/** A process with Redisson, and the one thread that is used there. */
interface Part {
  readonly redisson: Redisson;
  readonly user: JvmUser;
}

class Stage implements Store {
  readonly server: RedisServer;
  readonly #plain;
  readonly #journal: KeyJournal;
  readonly #parts: ReadonlyMap<Actor, Part>;
  readonly #cast: Cast;

  private constructor(server: RedisServer, journal: KeyJournal, parts: ReadonlyMap<Actor, Part>) {
    this.server = server;
    this.#plain = server.client();
    this.#journal = journal;
    this.#parts = parts;
    this.#cast = new Cast(new Map([...parts].map(([actor, { user }]) => [actor, user.holder])));
  }

  static async open(): Promise<Stage> {
    const server = await startRedis();
    const parts = await Promise.all(
      (["A", "B", "C"] as const).map(async (actor) => {
        const redisson = await startRedisson(release);
        const user = await JvmUser.of(await redisson.connect(server.url));
        return [actor, { redisson, user }] as const;
      }),
    );
    return new Stage(server, await keepJournal(server), new Map(parts));
  }

  raw(command: string, ...args: readonly (string | number)[]): Promise<unknown> {
    return this.#plain.call(command, ...args);
  }

  keys(): Promise<readonly string[]> {
    return this.#plain.keys("*");
  }

  async play({ steps }: Scenario): Promise<readonly RecordedStep[]> {
    const players = new Map([...this.#parts].map(([actor, { user }]) => [actor, new Player(user)]));
    const actors = [...new Set(steps.map(({ by }) => by))];
    const recorded: RecordedStep[] = [];
    for (const step of steps) {
      const player = players.get(step.by);
      const part = this.#parts.get(step.by);
      if (player === undefined || part === undefined) throw new Error(`nobody plays ${step.by}`);
      if (player.waits) part.redisson.thaw();
      const answer = await player.act(step);
      // What comes to a waiter now is not to be answered before the state was seen.
      if (step.does === "waits") await part.redisson.freeze();
      const seen: Partial<Record<Actor, Seen>> = {};
      for (const actor of actors) {
        const looker = players.get(actor);
        if (looker?.waits === false && step.lock.members === undefined) seen[actor] = await looker.see(step);
      }
      const keys = await recordKeys(this, this.#cast);
      const messages = (await this.#journal.read()).map((entry) => this.#cast.toLetters(entry));
      recorded.push({ step: describeStep(step), answer, keys, messages: messages.sort(), seen });
    }
    await this.#plain.flushall();
    await this.#journal.read();
    return recorded;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#parts.values()].map(({ redisson }) => redisson.stop()));
    await this.server.stop();
  }
}

describe(`what Redisson ${release} stores and publishes`, () => {
  let stage: Stage | undefined;
  const played: Record<string, readonly RecordedStep[]> = {};
  beforeAll(async () => {
    stage = await Stage.open();
  });
  afterAll(async () => {
    await stage?.close();
    if (WRITES) writeRecords(release, played);
  });

  test.each(scenarios.filter((scenario) => since(scenario.since ?? "0")))("$title", async (scenario) => {
    const steps = await stage?.play(scenario);
    if (steps !== undefined) played[scenario.title] = steps;
    if (!WRITES) expect(steps).toEqual(recordsOf(release)[scenario.title]);
  });
});
