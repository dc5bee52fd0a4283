import { Cluster } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { PubSub } from "../../src/client-options.js";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { Holdfast } from "../../src/holdfast.js";
import { lockChannel } from "../../src/protocol/names.js";
import { quickEnd } from "../support/clients/ioredis-clients.js";
import { ObservedDriver } from "../support/drivers/observed-driver.js";
import { release, since } from "../support/jvm/interop.js";
import { JvmUser, NodeUser, type User } from "../support/jvm/lock-user.js";
import { type Redisson, startRedisson } from "../support/jvm/redisson.js";
import {
  JvmSynchronizers,
  NodeSynchronizers,
  type SynchronizerUser,
} from "../support/jvm/synchronizer-user.js";
import { type Proof, proves } from "../support/run/proof.js";
import { ask } from "../support/servers/ask.js";
import { type RedisCluster, startCluster } from "../support/servers/redis-cluster.js";
import { interopKinds } from "./kinds.js";
import { take } from "./synchronizer-fleet.js";

const HOUR_MS = 3_600_000;
/** Names of several slots, so that those who speak to each other do so on each of the masters. */
const NAMES = ["order:7", "order:8", "{order}:9"] as const;

let cluster: RedisCluster;
let redisson: Redisson;
const ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  [cluster, redisson] = await Promise.all([startCluster(), startRedisson(release)]);
}, 60_000);
afterAll(async () => {
  await redisson?.stop();
  await cluster?.stop();
});
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  await Promise.all((await cluster.masters()).map((master) => ask(master, "FLUSHALL")));
});

async function jvm({ classic = false } = {}): Promise<JvmUser> {
  const addresses = cluster.nodes.map(({ port }) => `redis://127.0.0.1:${port}`);
  const user = await JvmUser.of(await redisson.connect(addresses, { cluster: true, classic }));
  ends.push(() => user.disconnect());
  return user;
}

/** Only a message or the end of a lease of an hour makes it ask again. */
function node(pubSub: PubSub = "auto"): NodeUser {
  const nodes = cluster.nodes.map(({ port }) => ({ host: "127.0.0.1", port }));
  const redis = new Cluster(nodes, { redisOptions: quickEnd });
  const driver = new ObservedDriver(ioredisDriver(redis));
  const holdfast = new Holdfast(driver, { safetyPeriodMs: HOUR_MS, redMemberTimeoutMs: 3_000, pubSub });
  ends.push(async () => {
    await holdfast.close({ releaseHeld: true });
    redis.disconnect();
  });
  return NodeUser.of(holdfast, driver);
}

/** Those that somebody listens to at the master of a key. */
async function shardedChannels(key: string): Promise<unknown> {
  return ask(await cluster.masterOf(key), "PUBSUB", "SHARDCHANNELS");
}

type Users = () => Promise<readonly [User, User]>;

const directions: readonly (readonly [Proof["direction"], Users])[] = [
  ["a JVM holds, Node waits", async () => [await jvm(), node()]],
  ["Node holds, a JVM waits", async () => [node(), await jvm()]],
];

describe.each(directions)(
  `Redisson ${release} in a cluster with sharded messages: %s`,
  (direction, users) => {
    describe.each(interopKinds)("$name", (kind) => {
      proves({ kind: kind.name, direction, of: "cluster" });

      test("is refused while it is held, and had as soon as it is released", async () => {
        const { of, rival = of, tells } = kind;
        const [holder, waiter] = await users();
        for (const name of NAMES) {
          await holder.lock(of(name), HOUR_MS);
          expect(await waiter.tryLock(rival(name))).toBe(false);
          const waiting = waiter.lock(rival(name), HOUR_MS);
          await waiter.waits({ polling: !tells });
          if (kind.name === "lock") expect(await shardedChannels(name)).toContain(lockChannel(name));
          await holder.unlock(of(name));
          await waiting;
          expect(await holder.tryLock(of(name))).toBe(false);
          await waiter.unlock(rival(name));
        }
      });
    });
  },
);

type SynchronizerUsers = () => Promise<readonly [SynchronizerUser, SynchronizerUser]>;

const synchronizerDirections: readonly (readonly [Proof["direction"], SynchronizerUsers])[] = [
  ["a JVM holds, Node waits", async () => [new JvmSynchronizers(await jvm()), new NodeSynchronizers(node())]],
  ["Node holds, a JVM waits", async () => [new NodeSynchronizers(node()), new JvmSynchronizers(await jvm())]],
];

describe.each(synchronizerDirections)(
  `Redisson ${release} in a cluster with sharded messages: %s`,
  (direction, users) => {
    describe.each(["semaphore", "permit-expirable-semaphore"] as const)("%s", (kind) => {
      proves({ kind, direction, of: "cluster" });

      test("a permit crosses", async () => {
        const [holder, waiter] = await users();
        for (const name of NAMES) {
          const on = { kind, name };
          await holder.call(on, "trySetPermits", { permits: 1 });
          const held = await take(holder, on);
          const waiting = take(waiter, on);
          await waiter.waits();
          await held.giveBack();
          const crossed = await waiting;
          expect(await holder.call(on, "availablePermits")).toBe(0);
          await crossed.giveBack();
          expect(await holder.call(on, "availablePermits")).toBe(1);
        }
      });
    });

    describe("a latch", () => {
      proves({ kind: "count-down-latch", direction, of: "cluster" });

      test("opens for the other side", async () => {
        const [holder, waiter] = await users();
        for (const name of ["order:7", "order:8"]) {
          const on = { kind: "count-down-latch", name } as const;
          await holder.call(on, "trySetCount", { count: 1 });
          const waiting = waiter.call(on, "await");
          await waiter.waits();
          await holder.call(on, "countDown");
          await waiting;
          expect(await waiter.call(on, "getCount")).toBe(0);
        }
      });
    });
  },
);

describe(`Redisson ${release} in a cluster, told to use classic messages`, () => {
  const withJvms: readonly (readonly [string, Users])[] = [
    ["a JVM holds, Node waits", async () => [await jvm({ classic: true }), node("both")]],
    ["Node holds, a JVM waits", async () => [node("both"), await jvm({ classic: true })]],
  ];
  const ofNode: Users = async () => [node("both"), node("sharded")];

  test.runIf(since("3.29.0")).each(withJvms)("is understood by a client that uses both: %s", understood);
  test("and so is that client by one of sharded messages", () => understood("", ofNode));

  async function understood(_: string, users: Users): Promise<void> {
    const [holder, waiter] = await users();
    for (const name of NAMES) {
      const lock = { kind: "lock", name } as const;
      await holder.lock(lock, HOUR_MS);
      const waiting = waiter.lock(lock, HOUR_MS);
      await waiter.waits();
      await holder.unlock(lock);
      await waiting;
      await expect(waiter.unlock(lock)).resolves.toBeUndefined();
    }
  }
});
