import { afterAll, beforeAll, expect, test } from "vitest";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { Holdfast } from "../../src/holdfast.js";
import { until } from "../support/run/until.js";
import { ask } from "../support/servers/ask.js";
import { isRequestKey } from "../support/servers/request-keys.js";
import { startSentinels, type WatchedRedis } from "../support/servers/sentinels.js";
import { Fleet, valuesOfFleet } from "../support/worlds/fleet.js";

/** `npm run test:long` asks for 20. */
const FAILOVERS = Number(process.env["HOLDFAST_FAILOVERS"] ?? 2);
const HOUR_MS = 3_600_000;
/**
 * Within so long after the new master has a replica everybody has entered who may. At most a command has to be given up,
 * after 3 s, and a connection be made; several times that, since the machine may be busy.
 */
const SOON_MS = 20_000;
const TEST_MS = 90_000;

let servers: WatchedRedis;
let fleet: Fleet;

beforeAll(async () => {
  servers = await startSentinels();
  const { sentinels, name } = servers;
  const master = await servers.master();
  const holdfast = new Holdfast(ioredisDriver(master.client()));
  await Fleet.givePermits(holdfast);
  await holdfast.close();
  const options = {
    replicas: { mode: "require", timeoutMs: 1_000 },
    safetyPeriodMs: HOUR_MS,
  } as const;
  fleet = await Fleet.start({ topology: "sentinel", sentinels, name }, options);
}, TEST_MS);

afterAll(async () => {
  try {
    await fleet.end();
    await until(async () => {
      const master = await servers.master();
      const keys = (await ask(master, "KEYS", "*")) as string[];
      return keys.filter((key) => !isRequestKey(key) && !valuesOfFleet.includes(key)).length === 0;
    });
    const values = await ask(await servers.master(), "MGET", ...valuesOfFleet);
    expect(values).toEqual(valuesOfFleet.map(() => "1"));
  } finally {
    await servers.stop();
  }
}, TEST_MS);

async function channels(): Promise<string[]> {
  return (await ask(await servers.master(), "PUBSUB", "CHANNELS")) as string[];
}

const faults: readonly (readonly [string, () => Promise<unknown>])[] = [
  ["have another master by order", async () => servers.failover().then(() => servers.settled())],
  [
    "miss theirs, which was killed",
    async () => {
      const old = await servers.master();
      await old.kill();
      await servers.successor(old);
      await old.restart();
      await servers.settled();
    },
  ],
  [
    "miss theirs, which stands still for a while",
    async () => {
      const old = await servers.master();
      await old.pause();
      await servers.successor(old);
      old.resume();
      await servers.settled();
    },
  ],
];

const failovers = Array.from(
  { length: FAILOVERS },
  (_, round) => [round + 1, ...(faults[round % faults.length] ?? never())] as const,
);

function never(): never {
  throw new Error("there are some faults");
}

test.each(failovers)(
  "failover %i: with replicas required nobody enters beside a holder, and who waits is told when that leaves, when Sentinels %s",
  { timeout: TEST_MS },
  async (_, __, fault) => {
    await fleet.survives(fault, channels, SOON_MS);
  },
);
