import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { newest, releases } from "../../scripts/redisson.mjs";
import type { Driver } from "../../src/driver/driver.js";
import { latchChannel, semaphoreChannel } from "../../src/protocol/names.js";
import type { ScriptSource } from "../../src/protocol/script-call.js";
import type { Actor } from "../interop/scenarios.js";
import { synchronizerScenarios } from "../interop/synchronizer-scenarios.js";
import { isHappening, type SynchronizerStep } from "../interop/synchronizer-steps.js";
import { ObservedDriver } from "../support/drivers/observed-driver.js";
import { NodeUser } from "../support/jvm/lock-user.js";
import { synchronizerRecords } from "../support/jvm/record-files.js";
import {
  PermitIds,
  type RecordedStep,
  recordKeys,
  restoreKeys,
  type ScriptedStore,
  SynchronizerPlayer,
} from "../support/jvm/synchronizer-records.js";
import { NodeSynchronizers } from "../support/jvm/synchronizer-user.js";
import { backends, type OpenBackend, openedFor } from "../support/servers/backends.js";
import { root } from "../support/tidy/tree.js";

const HOUR_MS = 3_600_000;

const parts = synchronizerRecords.all(synchronizerScenarios).flatMap((recorded) => {
  const actors = [...new Set(recorded.scenario.steps.map(({ by }) => by))];
  return actors.map((ours) => ({
    ...recorded,
    ours,
    title: `${recorded.scenario.title}, where ${ours} is ours (Redisson ${recorded.releases.join(", ")})`,
  }));
});

test("what is done otherwise is in redisson-differences.md", () => {
  const page = readFileSync(join(root, "docs/reference/redisson-differences.md"), "utf8");
  const rows = synchronizerScenarios.flatMap(({ steps }) => steps.flatMap(({ ours }) => ours?.row ?? []));
  expect(rows).not.toEqual([]);
  expect([...new Set(rows)].filter((row) => !page.includes(`\n| ${row} | `))).toEqual([]);
});

test("all scenarios are recorded, for all releases that do so", () => {
  expect([...synchronizerRecords.releases].sort()).toEqual([...releases].sort());
  const recorded = Object.keys(synchronizerRecords.of(newest));
  expect(recorded.sort()).toEqual(synchronizerScenarios.map(({ title }) => title).sort());
});

describe.each(backends)("with what Redisson has left behind, on $name", (backend) => {
  const server = openedFor(backend);

  test.each(parts)("$title", async ({ scenario, steps, ours }) => {
    await new Replay(server(), ours).play(scenario.steps, steps);
    await server().flush();
  });
});

/** One actor is ours, and does what it did in a JVM; what the others did is taken from the records. */
class Replay implements ScriptedStore {
  readonly #server: OpenBackend;
  readonly #driver: Driver;
  readonly #ours: Actor;
  readonly #ids = new PermitIds();
  readonly #player: SynchronizerPlayer;

  constructor(server: OpenBackend, ours: Actor) {
    this.#server = server;
    this.#ours = ours;
    let driver: ObservedDriver | undefined;
    const client = server.client(
      { safetyPeriodMs: HOUR_MS },
      (inner) => (driver = new ObservedDriver(inner)),
    );
    if (driver === undefined) throw new TypeError("the client has no driver");
    this.#driver = driver;
    this.#player = new SynchronizerPlayer(new NodeSynchronizers(NodeUser.of(client, driver)), this.#ids);
  }

  raw(command: string, ...args: readonly (string | number)[]): Promise<unknown> {
    return this.#server.raw(command, ...args);
  }

  keys(): Promise<readonly string[]> {
    return this.#server.keys();
  }

  evaluate(script: ScriptSource, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#driver.run({ script, keys, args }, { givenUp: false });
  }

  async play(steps: readonly SynchronizerStep[], recorded: readonly RecordedStep[]): Promise<void> {
    const channels = [
      ...new Set(steps.flatMap(({ on }) => [semaphoreChannel(on.name), latchChannel(on.name)])),
    ];
    const heard = await Promise.all(channels.map((channel) => this.#server.listen(channel)));
    const published = () =>
      heard.flatMap((messages, at) => messages.map((message) => `${message} -> ${channels[at]}`)).sort();
    const wanted: string[] = [];
    for (const [at, step] of steps.entries()) {
      const record = recorded[at];
      if (record === undefined) throw new Error(`there is no record of step ${at + 1}`);
      const acts = step.by === this.#ours && !isHappening(step.does);
      const expected = acts ? ourOwn(step, record) : record;
      wanted.push(...expected.messages);
      if (acts) await this.#act(step, expected);
      else await this.#take(record);
      await expect
        .poll(published, { message: `messages of ${record.step}`, interval: 1 })
        .toEqual([...wanted].sort());
    }
    // A message too many would have come before these, which are none for a JVM or for us.
    for (const channel of channels) await this.raw("PUBLISH", channel, "end");
    wanted.push(...channels.map((channel) => `end -> ${channel}`));
    await expect.poll(published, { message: "all messages", interval: 1 }).toEqual(wanted.sort());
  }

  async #act(step: SynchronizerStep, expected: RecordedStep): Promise<void> {
    expect(await this.#player.act(step), `answer of ${expected.step}`).toBe(expected.answer);
    const keys = () => recordKeys(this, this.#ids);
    await expect.poll(keys, { message: `keys after ${expected.step}`, interval: 1 }).toEqual(expected.keys);
  }

  async #take({ keys, messages }: RecordedStep): Promise<void> {
    await restoreKeys(this, this.#ids, keys);
    for (const entry of messages) {
      const [message = "", channel = ""] = entry.split(" -> ");
      await this.raw("PUBLISH", channel, message);
    }
  }
}

/** What is to come of a step that one of ours does. */
function ourOwn({ ours }: SynchronizerStep, record: RecordedStep): RecordedStep {
  if (ours === undefined) return record;
  const { row: _, ...otherwise } = ours;
  const expected = { ...record, ...otherwise };
  expect(expected, `what is done otherwise in ${record.step}`).not.toEqual(record);
  return expected;
}
