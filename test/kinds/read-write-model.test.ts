import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HoldfastError } from "../../src/errors.js";
import type { Holdfast } from "../../src/holdfast.js";
import type { Lock } from "../../src/locks/lock.js";
import { readHoldKey } from "../../src/protocol/names.js";
import {
  type Actor,
  CLIENTS,
  type Half,
  histories,
  type Outcome,
  ReadWriteModel,
  type Step,
} from "../support/models/read-write-model.js";
import { seededRandom } from "../support/run/seeded-random.js";
import { backends, type OpenBackend, openedFor } from "../support/servers/backends.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";

const NAME = "order:7";
const LEASE_MS = 600_000;
const RUNS = Number(process.env["HOLDFAST_MODEL_RUNS"] ?? 300);
const SAMPLE = 60;
const { seed } = seededRandom();

/** A server that a history is played on. */
interface Stage {
  readonly clients: readonly Holdfast[];
  fields(): Promise<Readonly<Record<string, string>>>;
  keys(): Promise<readonly string[]>;
  letExpire(): Promise<void>;
}

function lockOf({ clients }: Stage, { client }: Actor, half: Half): Lock {
  const pair = clients[client]?.getReadWriteLock(NAME);
  if (pair === undefined) throw new Error(`no client ${client}`);
  return half === "read" ? pair.readLock() : pair.writeLock();
}

async function play(stage: Stage, step: Step): Promise<Outcome> {
  if (step.act === "expire") {
    await stage.letExpire();
    return "done";
  }
  const { threadId } = step.actor;
  const lock = lockOf(stage, step.actor, step.half);
  try {
    switch (step.act) {
      case "tryLock":
        return (await lock.tryLock({ threadId, leaseMs: LEASE_MS }))?.holdCount ?? "refused";
      case "unlock":
        await lock.unlock(threadId);
        return "done";
      default:
        return await lock.forceUnlock();
    }
  } catch (error) {
    if (error instanceof HoldfastError) return error.code;
    throw error;
  }
}

function field({ clients }: Stage, { client, threadId }: Actor): string {
  return `${clients[client]?.clientId}:${threadId}`;
}

/** What is stored is what the model says, to the last field and key. */
async function expectStored(stage: Stage, model: ReadWriteModel): Promise<void> {
  const fields: Record<string, string> = model.mode === undefined ? {} : { mode: model.mode };
  const keys = model.mode === undefined ? [] : [NAME];
  for (const [actor, { read, write }] of model.holders()) {
    const holder = field(stage, actor);
    if (write > 0) fields[`${holder}:write`] = String(write);
    if (read > 0) fields[holder] = String(read);
    for (let index = 1; index <= read; index += 1) keys.push(readHoldKey(NAME, holder, index));
  }
  expect(await stage.fields()).toEqual(fields);
  expect([...(await stage.keys())].sort()).toEqual(keys.sort());
}

/** Others hear of a forced unlock when they ask: here each does, by a release that has nothing to release. */
async function letAllHear(
  stage: Stage,
  before: readonly (readonly [Actor, { read: number; write: number }])[],
) {
  for (const [actor, counts] of before) {
    for (const half of ["read", "write"] as const) {
      if (counts[half] === 0) continue;
      const unlock: Step = { act: "unlock", half, actor };
      expect(await play(stage, unlock)).toBe("ERR_HOLDFAST_NOT_HELD");
    }
  }
}

async function runHistory(stage: Stage, steps: readonly Step[]): Promise<void> {
  const model = new ReadWriteModel();
  for (const step of steps) {
    const before = model.holders();
    const expected = model.apply(step);
    expect([step, await play(stage, step)]).toEqual([step, expected]);
    if (expected === true) await letAllHear(stage, before);
    await expectStored(stage, model);
  }
  await expectAnswers(stage, model);
  await giveBack(stage, model);
}

async function expectAnswers(stage: Stage, model: ReadWriteModel): Promise<void> {
  const somebody: Actor = { client: 0, threadId: 1 };
  const holders = model.holders();
  expect({
    read: await lockOf(stage, somebody, "read").isLocked(),
    write: await lockOf(stage, somebody, "write").isLocked(),
  }).toEqual({
    read: holders.some(([, { read }]) => read > 0),
    write: holders.some(([, { write }]) => write > 0),
  });
  for (const [actor, counts] of holders) {
    for (const half of ["read", "write"] as const) {
      const lock = lockOf(stage, actor, half);
      expect(await lock.getHoldCount(actor.threadId)).toBe(counts[half]);
      expect(await lock.isHeldByThread(actor.threadId)).toBe(counts[half] > 0);
    }
  }
}

async function giveBack(stage: Stage, model: ReadWriteModel): Promise<void> {
  for (const [actor, { read, write }] of model.holders()) {
    for (let i = 0; i < read; i += 1) await play(stage, { act: "unlock", half: "read", actor });
    for (let i = 0; i < write; i += 1) await play(stage, { act: "unlock", half: "write", actor });
  }
  expect(await stage.keys()).toEqual([]);
}

function onFakeTime(time: FakeTime): Stage {
  const others = Array.from({ length: CLIENTS - 1 }, () => time.connect().holdfast);
  return {
    clients: [time.holdfast, ...others],
    fields: async () => time.fields(NAME),
    keys: async () => Object.keys(time.server.dump()),
    letExpire: () => time.clock.advance(2 * LEASE_MS),
  };
}

function onBackend(server: OpenBackend): Stage {
  return {
    clients: Array.from({ length: CLIENTS }, () => server.client()),
    fields: () => server.fields(NAME),
    keys: () => server.keys(),
    letExpire: () => Promise.reject(new Error("real time does not pass at will")),
  };
}

describe("a read-write lock does what its model does", () => {
  const open = fakeTime();

  test(`in ${RUNS} random histories on the embedded server [B29] [wire-A6]`, {
    timeout: 600_000,
  }, async () => {
    const stage = onFakeTime(open());
    await fc.assert(
      fc.asyncProperty(histories(true), (steps) => runHistory(stage, steps)),
      { seed, numRuns: RUNS },
    );
  });
});

describe.each(backends)("on $name", (backend) => {
  const server = openedFor(backend);

  test(`in a sample of ${SAMPLE} [B29]`, { timeout: 60_000 }, async () => {
    const stage = onBackend(server());
    await fc.assert(
      fc.asyncProperty(histories(false), (steps) => runHistory(stage, steps)),
      { seed, numRuns: SAMPLE },
    );
  });
});
