import type { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { newest } from "../../../scripts/redisson.mjs";
import { ioredisDriver } from "../../../src/driver/ioredis/index.js";
import { Holdfast } from "../../../src/holdfast.js";
import { destroyClient } from "../clients/ioredis-clients.js";
import { ObservedDriver } from "../drivers/observed-driver.js";
import { type RedisServer, startRedis } from "../servers/redis-server.js";
import { isRequestKey } from "../servers/request-keys.js";
import { JvmUser, NodeUser, type User } from "./lock-user.js";
import { type Redisson, type RedissonSettings, startRedisson } from "./redisson.js";

const HOUR_MS = 3_600_000;
/** A red lock's server that is slow, since the machine is busy, is not away. */
const BUSY_MS = 3_000;

/** The release of Redisson that is tested against. */
export const release: string = process.env["HOLDFAST_REDISSON"] ?? newest;

/** True when the release under test is this one or a later one. */
export function since(first: string): boolean {
  const numbers = (text: string) => text.split(".").map(Number);
  const [a, b] = [numbers(release), numbers(first)];
  const at = a.findIndex((number, i) => number !== b[i]);
  return at < 0 || (a[at] ?? 0) > (b[at] ?? 0);
}

export interface UserSettings extends RedissonSettings {
  /** A client may be shared by several users. */
  readonly beside?: User;
  /** Ours: how often who waits asks without being told. Default: an hour, so that no test is served by it. */
  readonly safetyPeriodMs?: number;
}

/** A server, a JVM, and users of both sides. */
export interface Interop {
  readonly server: RedisServer;
  readonly plain: Redis;
  readonly redisson: Redisson;
  /** The time of the server in milliseconds. */
  nowMs(): Promise<number>;
  /** A thread of the JVM, with a client of its own. */
  jvm(settings?: UserSettings): Promise<JvmUser>;
  /** Somebody of this process, with a client of its own, who learns of releases by messages and TTLs only. */
  node(settings?: UserSettings): Promise<NodeUser>;
}

/** To be called once in a file. After each test nothing may be left in Redis but what a JVM leaves by its nature. */
export function interop(): Interop {
  let server: RedisServer | undefined;
  let plain: Redis | undefined;
  let redisson: Redisson | undefined;
  const nodes: { readonly holdfast: Holdfast; readonly redis: Redis }[] = [];
  const jvms: JvmUser[] = [];
  beforeAll(async () => {
    server = await startRedis();
    plain = server.client();
    redisson = await startRedisson(release);
  }, 60_000);
  afterEach(async () => {
    await Promise.all(nodes.map(({ holdfast }) => holdfast.close({ releaseHeld: true })));
    await Promise.all(nodes.splice(0).map(({ redis }) => destroyClient(redis)));
    await Promise.all(jvms.splice(0).map((user) => user.disconnect()));
    const left = async () =>
      (await started(plain).keys("*")).filter((key) => !isJvmsLitter(key) && !isRequestKey(key));
    try {
      await expect.poll(left).toEqual([]);
    } finally {
      await started(plain).flushall();
    }
  });
  afterAll(async () => {
    await redisson?.stop();
    await server?.stop();
  });
  return {
    get server() {
      return started(server);
    },
    get plain() {
      return started(plain);
    },
    get redisson() {
      return started(redisson);
    },
    async nowMs() {
      const [seconds, micros] = await started(plain).time();
      return Number(seconds) * 1_000 + Number(micros) / 1_000;
    },
    async jvm({ beside, safetyPeriodMs: _, ...settings } = {}) {
      const user =
        beside instanceof JvmUser
          ? await beside.colleague()
          : await JvmUser.of(await started(redisson).connect(started(server).url, settings));
      jvms.push(user);
      return user;
    },
    async node({ beside, watchdogMs, safetyPeriodMs = HOUR_MS, namePrefix = "" } = {}) {
      if (beside instanceof NodeUser) return beside.colleague();
      const redis = started(server).client();
      const options = {
        safetyPeriodMs,
        redMemberTimeoutMs: BUSY_MS,
        nameMapper: (name: string) => namePrefix + name,
        ...(watchdogMs === undefined ? {} : { watchdogMs, fleetWatchdogMs: watchdogMs }),
      };
      const driver = new ObservedDriver(ioredisDriver(redis));
      const holdfast = new Holdfast(driver, options);
      nodes.push({ holdfast, redis });
      return NodeUser.of(holdfast, driver);
    },
  };
}

function started<T>(thing: T | undefined): T {
  if (thing === undefined) throw new Error("it starts before the first test, not earlier");
  return thing;
}

/**
 * The latch of an unlock, which some releases never delete, the counter of a fenced lock, and what a forced unlock of a read
 * lock leaves to expire.
 */
function isJvmsLitter(key: string): boolean {
  return /^redisson_(unlock_latch|lock_token):/.test(key) || key.includes(":rwlock_timeout:");
}
