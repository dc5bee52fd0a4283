import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { HoldfastOptions } from "../../src/client-options.js";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { Holdfast } from "../../src/holdfast.js";
import { readHoldKey } from "../../src/protocol/names.js";
import { ObservedDriver } from "../support/drivers/observed-driver.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { type Touched, type TouchedNames, touchedNames } from "../support/servers/touched-names.js";
import { type Kind, kinds } from "./kinds.js";

const redis = locksOnRedis();
let names: TouchedNames;
beforeAll(async () => {
  names = await touchedNames(redis.server);
});
beforeEach(() => names.read());

const HOLDER = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:\d+/g;
const CLIENT = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** The name of a lock after the mapper, and what stands for it in derived names. */
interface Name {
  readonly raw: string;
  readonly tag: string;
}

interface Mapping {
  readonly title: string;
  readonly options: HoldfastOptions;
  name(given: string): Name;
}

const mappings: readonly Mapping[] = [
  { title: "without a mapper", options: {}, name: (given) => ({ raw: given, tag: `{${given}}` }) },
  {
    title: "under a mapper that brings a hash tag",
    options: { nameMapper: (name) => `app:{${name}}` },
    name: (given) => ({ raw: `app:{${given}}`, tag: `app:{${given}}` }),
  },
];

const merged = (...all: readonly Touched[]): Touched => ({
  keys: all.flatMap(({ keys }) => keys),
  channels: all.flatMap(({ channels }) => channels),
});

/** Whoever is asked about a lock looks whether it has a queue and a token, too. */
const mutex = ({ raw, tag }: Name): Touched => ({
  keys: [raw, `redisson_lock_queue:${tag}`, `redisson_lock_token:${tag}`],
  channels: [`redisson_lock__channel:${tag}`],
});

/** The clients that wait stand in a queue, each is told on a channel of its own, and the first two hear the lock's besides. */
const queued = (name: Name): Touched => ({
  keys: [...mutex(name).keys, `holdfast_waiting:${name.tag}`],
  channels: [...mutex(name).channels, `redisson_lock__channel:${name.tag}:<client>`],
});

const fair = (name: Name): Touched => ({
  keys: [...mutex(name).keys, `redisson_lock_timeout:${name.tag}`, `holdfast_fair_alive:${name.tag}`],
  channels: [`redisson_lock__channel:${name.tag}:<client>`],
});

const readWrite = (name: Name): Touched => ({
  keys: [...mutex(name).keys, `holdfast_rw_writer:${name.tag}`, `${name.tag}:<holder>:rwlock_timeout:1`],
  channels: [`redisson_rwlock:${name.tag}`],
});

const write = (name: Name): Touched => ({
  keys: [...readWrite(name).keys, `holdfast_waiting_writers:${name.tag}`],
  channels: [...readWrite(name).channels, `redisson_rwlock:${name.tag}:<client>`],
});

const named: Readonly<Record<string, (name: Mapping["name"]) => Touched>> = {
  lock: (name) => queued(name("order")),
  "non-reentrant": (name) => queued(name("order")),
  fenced: (name) => queued(name("order")),
  // It has a place in the queue, and hears of no turn.
  spin: (name) => ({ ...queued(name("order")), channels: mutex(name("order")).channels }),
  fair: (name) => fair(name("order")),
  "non-reentrant fair": (name) => fair(name("order")),
  read: (name) => readWrite(name("order")),
  write: (name) => write(name("order")),
  "read, `fair: true`": (name) => readWrite(name("order")),
  "write, `fair: true`": (name) => readWrite(name("order")),
  multi: (name) => merged(queued(name("order:1")), { ...fair(name("order:2")), channels: [] }),
  red: (name) => merged(...["order:1", "order:2", "order:3"].map((one) => mutex(name(one)))),
};

/** Waited for, held, asked about, released, and forced open. */
async function wholeLife({ of, obstacle = of, lacks }: Kind, options: HoldfastOptions): Promise<void> {
  const driver = new ObservedDriver(ioredisDriver(redis.connect().redis));
  const patient = { redMemberTimeoutMs: 3_000, ...options };
  const own = new Holdfast(driver, patient);
  const lease = await obstacle(redis.holdfast(patient), "order").lock();
  const lock = of(own, "order");
  const waiting = lock.lock();
  await driver.waits({ polling: lacks.polling === undefined });
  await lease.unlock();
  const held = await waiting;
  await lock.isLocked();
  await held.unlock();
  await lock.forceUnlock();
  await own.close();
}

describe.each(mappings)("the names of keys and channels, $title", ({ options, name }) => {
  test.each(kinds)(
    "makes these keys and channels of a lock of the kind $name, and no others [B33]",
    async (kind) => {
      await wholeLife(kind, options);
      const expected = (named[kind.name] ?? ((of) => mutex(of("order"))))(name);
      const seen = await names.read();
      const anonymous = (all: readonly string[]) =>
        [
          ...new Set(all.map((one) => one.replaceAll(HOLDER, "<holder>").replaceAll(CLIENT, "<client>"))),
        ].sort();
      expect({ keys: anonymous(seen.keys), channels: anonymous(seen.channels) }).toEqual({
        keys: [...expected.keys].sort(),
        channels: [...expected.channels].sort(),
      });
      await redis.plain.del(`redisson_lock_token:${name("order").tag}`);
    },
  );
});

test("the release of a read lock makes up the keys of other readers, all in the slot of the lock [R26]", async () => {
  const readers = [redis.holdfast(), redis.holdfast(), redis.holdfast()];
  const leases = await Promise.all(readers.map((one) => one.getReadWriteLock("order").readLock().lock()));
  const [first, ...others] = leases;
  await names.read();
  await first?.unlock();
  const { keys, channels } = await names.read();
  expect(keys).toEqual(expect.arrayContaining(others.map(({ holder }) => readHoldKey("order", holder, 1))));
  expect(new Set([...keys, ...channels].map(hashTag))).toEqual(new Set(["order"]));
  for (const lease of others) await lease.unlock();
});

/** What decides about the slot of a key. */
function hashTag(key: string): string {
  return /\{([^}]+)\}/.exec(key)?.[1] ?? key;
}
