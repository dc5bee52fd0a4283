import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { Holdfast } from "../../src/holdfast.js";
import { waitingKey, writersQueueKey } from "../../src/protocol/names.js";
import { ioredisFlavours } from "../support/clients/ioredis-flavours.js";
import { ObservedDriver } from "../support/drivers/observed-driver.js";
import { until } from "../support/run/until.js";
import { ask } from "../support/servers/ask.js";
import { type RedisCluster, startCluster } from "../support/servers/redis-cluster.js";
import { isBefore7, NO_SHARDED_MESSAGES } from "../support/servers/redis-program.js";

const HOUR_MS = 3_600_000;
const LONG_MS = 20_000;
/** For so long the keys of one name are at two masters. */
const APART_MS = 100;
const WAITING = 3;

type GiveBack = () => Promise<unknown>;

/** How clients wait together for one thing. */
interface Queued {
  readonly title: string;
  queueOf(name: string): string;
  setUp(holdfast: Holdfast, name: string): Promise<unknown>;
  take(holdfast: Holdfast, name: string): Promise<GiveBack>;
  /** The client of a member of the queue. */
  clientOf(member: string): string;
}

const queues: readonly Queued[] = [
  {
    title: "a write lock",
    queueOf: writersQueueKey,
    setUp: () => Promise.resolve(),
    async take(holdfast, name) {
      const lease = await holdfast.getReadWriteLock(name).writeLock().lock({ leaseMs: HOUR_MS });
      return () => lease.unlock();
    },
    clientOf: (member) => member,
  },
  {
    title: "a semaphore",
    queueOf: waitingKey,
    setUp: (holdfast, name) => holdfast.getSemaphore(name).trySetPermits(1),
    async take(holdfast, name) {
      const semaphore = holdfast.getSemaphore(name);
      await semaphore.acquire();
      return () => semaphore.release();
    },
    clientOf: (member) => member.slice(0, 36),
  },
  {
    title: "a permit-expirable semaphore",
    queueOf: waitingKey,
    setUp: (holdfast, name) => holdfast.getPermitExpirableSemaphore(name).trySetPermits(1),
    async take(holdfast, name) {
      const permits = await holdfast.getPermitExpirableSemaphore(name).acquire({ leaseMs: HOUR_MS });
      return () => permits.release();
    },
    clientOf: (member) => member.slice(0, 36),
  },
];

let cluster: RedisCluster;
const ends: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster.stop());
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  await cluster.settled();
  await Promise.all((await cluster.masters()).map((master) => ask(master, "FLUSHALL")));
});

const [flavour] = ioredisFlavours;

interface Patient {
  readonly holdfast: Holdfast;
  readonly driver: ObservedDriver;
}

/** A client that asks again for a reason only, not as time goes by. */
function patient(pubSub: "classic" | "sharded"): Patient {
  if (flavour === undefined) throw new Error("there is no client");
  const client = flavour.cluster(
    cluster.nodes.map(({ port }) => ({ host: "127.0.0.1", port })),
    {},
  );
  client.on("error", () => undefined);
  const driver = new ObservedDriver(ioredisDriver(client));
  const holdfast = new Holdfast(driver, { pubSub, safetyPeriodMs: HOUR_MS });
  ends.push(async () => {
    await holdfast.close({ releaseHeld: true });
    await driver.close();
    client.disconnect();
  });
  return { holdfast, driver };
}

/** The keys of a name have moved together before a release; or its queue alone, and the other keys later. */
const WAYS = [
  { keys: "together", isApart: false },
  { keys: "one after the other", isApart: true },
] as const;
const cases = queues.flatMap((queued) => WAYS.map((way) => ({ ...queued, ...way })));

describe.each(["classic", "sharded"] as const)("with %s messages", (pubSub) => {
  test.for(cases)(
    "those who wait for $title are served by messages alone while its slot moves, its keys $keys [own-123]",
    {
      timeout: LONG_MS,
    },
    async ({ title, keys, isApart, queueOf, setUp, take, clientOf }, { skip }) => {
      skip(pubSub === "sharded" && isBefore7(), NO_SHARDED_MESSAGES);
      const name = `moving:${pubSub}:${title}:${keys}`;
      const { holdfast: holder } = patient(pubSub);
      await setUp(holder, name);
      const giveBack = await take(holder, name);
      const served: string[] = [];
      const turns: GiveBack[] = [];
      const waits = async ({ holdfast }: Patient) => {
        const mine = await take(holdfast, name);
        served.push(holdfast.clientId);
        turns.push(mine);
      };
      const all = Array.from({ length: WAITING }, () => patient(pubSub));
      const waiting = Promise.all(all.map(waits));
      const places = async () => {
        const found = await ask(
          await cluster.masterOf(name),
          "ZRANGE",
          queueOf(name),
          "1",
          "+inf",
          "BYSCORE",
        );
        return (found as readonly string[]).map(clientOf);
      };
      await Promise.all(all.map(({ driver }) => driver.waits()));
      await giveBack();
      // One of them has it, and the others stand in the queue.
      await until(async () => served.length === 1 && (await places()).length === WAITING - 1);
      const order = await places();

      const from = await cluster.masterOf(name);
      const to = (await cluster.masters()).find((master) => master !== from);
      if (to === undefined) throw new Error("there is one master only");
      const move = await cluster.migrateSlot(await cluster.slotOf(name), to);
      await (isApart ? move.moveKeys(queueOf(name)) : move.moveKeys());
      const released = turns[0]?.();
      const endMs = performance.now() + APART_MS;
      while (performance.now() < endMs) await new Promise(setImmediate);
      if (isApart) await move.moveKeys();
      await move.finish();
      await released;
      for (let at = 1; at < WAITING; at += 1) {
        await until(async () => turns.length > at);
        await turns[at]?.();
      }
      await waiting;
      // A sharded subscription that has moved may have missed messages, so that all ask at once.
      if (pubSub === "classic") expect(served.slice(1)).toEqual(order);
      expect(new Set(served).size).toBe(WAITING);
      await ask(await cluster.masterOf(name), "DEL", name);
    },
  );
});
