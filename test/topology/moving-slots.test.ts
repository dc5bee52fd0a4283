import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Recorder } from "../../src/driver/conformance/conformance-case.js";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { Holdfast } from "../../src/holdfast.js";
import { lockChannel, readHoldKey, waitingWriterKey } from "../../src/protocol/names.js";
import { ioredisFlavours } from "../support/clients/ioredis-flavours.js";
import { ObservedDriver } from "../support/drivers/observed-driver.js";
import { openThings } from "../support/run/leaks.js";
import { until } from "../support/run/until.js";
import { ask } from "../support/servers/ask.js";
import { proxyCluster } from "../support/servers/proxied-cluster.js";
import { type RedisCluster, type SlotMigration, startCluster } from "../support/servers/redis-cluster.js";
import { isBefore7, NO_SHARDED_MESSAGES } from "../support/servers/redis-program.js";

const HOUR_MS = 3_600_000;
const LONG_MS = 30_000;
const WATCHDOG_MS = 900;
/** For so long the keys of one lock are at two masters. */
const APART_MS = 100;

let cluster: RedisCluster;
const ends: (() => Promise<unknown>)[] = [];
let names = 0;
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster.stop());
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  await cluster.settled();
  await Promise.all((await cluster.masters()).map((master) => ask(master, "FLUSHALL")));
});

type Flavour = (typeof ioredisFlavours)[number];

function connect(
  flavour: Flavour,
  options: Parameters<Flavour["cluster"]>[1] = {},
): ReturnType<typeof ioredisDriver> {
  const addresses = cluster.nodes.map(({ port }) => ({ host: "127.0.0.1", port }));
  const client = flavour.cluster(Object.values(options.natMap ?? addresses), options);
  client.on("error", () => undefined);
  const driver = ioredisDriver(client);
  ends.push(async () => {
    await driver.close();
    client.disconnect();
  });
  return driver;
}

/** A client that asks again for a reason only, not as time goes by. */
function patient(flavour: Flavour, options?: Parameters<typeof connect>[1]) {
  const driver = new ObservedDriver(connect(flavour, options));
  const holdfast = new Holdfast(driver, { safetyPeriodMs: HOUR_MS });
  ends.push(() => holdfast.close({ releaseHeld: true }));
  return { holdfast, driver };
}

/** The slot of a new name is about to move to another master. */
async function beginMove(): Promise<{ readonly name: string; readonly move: SlotMigration }> {
  const name = newName();
  return { name, move: await beginMoveOf(name) };
}

/** A release begins while the keys of its lock are at two masters, and ends when all have moved. */
async function finishAmid(move: SlotMigration, release: Promise<void>): Promise<void> {
  const endMs = performance.now() + APART_MS;
  while (performance.now() < endMs) await new Promise(setImmediate);
  await move.moveKeys();
  await move.finish();
  await release;
}

function newName(): string {
  names += 1;
  return `moving:${names}`;
}

async function beginMoveOf(name: string): Promise<SlotMigration> {
  const from = await cluster.masterOf(name);
  const to = (await cluster.masters()).find((master) => master !== from);
  if (to === undefined) throw new Error("there is one master only");
  return cluster.migrateSlot(await cluster.slotOf(name), to);
}

describe.each(ioredisFlavours)("while a slot moves, with $name", (flavour) => {
  test("its locks are taken and released all the time [R25]", async () => {
    const { holdfast } = patient(flavour);
    const { name, move } = await beginMove();
    const lease = await holdfast.getLock(name).lock({ leaseMs: HOUR_MS });
    for (const step of [() => move.moveKeys(), () => move.finish(), async () => undefined]) {
      await step();
      expect(await patient(flavour).holdfast.getLock(name).tryLock()).toBeNull();
      await lease.run(() => holdfast.getLock(name).using(() => undefined));
    }
    await lease.unlock();
    await (await holdfast.getLock(name).lock()).unlock();
  });

  test("the new master is reached where the client's natMap says, not where it says itself", async () => {
    const { close, natMap } = await proxyCluster(cluster);
    ends.push(close);
    const ports = new Set(cluster.nodes.map(({ port }) => port));
    const { holdfast } = patient(flavour, { natMap });
    const { name, move } = await beginMove();
    const lease = await holdfast.getLock(name).lock();
    const past = [...openThings().things.values()].filter((thing) => {
      const port = Number(/^a socket to (\d+)/.exec(thing)?.[1]);
      return ports.has(port) && !thing.includes("proxy-connection.ts");
    });
    expect(past).toEqual([]);
    await lease.unlock();
    await move.finish();
  });

  test("who waits is told of a release that the old master did not hear of, once the slot has moved [B32]", async () => {
    const [one, other] = [patient(flavour), patient(flavour)];
    const { name, move } = await beginMove();
    const lease = await one.holdfast.getLock(name).lock({ leaseMs: HOUR_MS });
    const waiting = other.holdfast.getLock(name).lock({ leaseMs: HOUR_MS });
    await other.driver.waits();
    await move.moveKeys();
    await lease.unlock();
    await move.finish();
    const next = await waiting;
    expect(next.state).toBe("held");
    await next.unlock();
  });

  test("a sharded subscription follows it, and says that messages may have been missed [B32]", {
    timeout: LONG_MS,
  }, async ({ skip }) => {
    skip(isBefore7(), NO_SHARDED_MESSAGES);
    const driver = connect(flavour);
    const { name, move } = await beginMove();
    const [channel, listener] = [lockChannel(name), new Recorder()];
    await driver.subscribe(channel, listener, "sharded");
    await ask(move.from, "SPUBLISH", channel, "before");
    await listener.until(2);
    await move.finish();
    await listener.until(3);
    await ask(await cluster.masterOf(name), "SPUBLISH", channel, "after");
    await listener.until(4);
    expect(listener.heard).toEqual(["ready", ">before", "ready", ">after"]);
  });

  test("a subscription that begins where the slot was before is had where it is [own-67]", async ({
    skip,
  }) => {
    skip(isBefore7(), NO_SHARDED_MESSAGES);
    const driver = connect(flavour);
    // The client knows the slots from now on, and is not told of the move.
    await driver.subscribe("before", new Recorder(), "sharded");
    const { name, move } = await beginMove();
    await move.finish();
    const [channel, listener] = [lockChannel(name), new Recorder()];
    await until(() => driver.subscribe(channel, listener, "sharded").then(Boolean, () => false));
    await ask(move.to, "SPUBLISH", channel, "after");
    await listener.until(2);
    expect(listener.heard).toEqual(["ready", ">after"]);
  });

  test("what has several keys is asked for until they are together, within the time of a command [R25]", async () => {
    const { holdfast } = patient(flavour);
    const name = newName();
    const lock = holdfast.getFencedLock(name);
    await (await lock.lock()).unlock();
    const move = await beginMoveOf(name);
    // The counter is here, and the lock nowhere: neither master knows where it belongs.
    const taking = lock.lock();
    await move.moveKeys();
    await move.finish();
    const lease = await taking;
    expect(lease.token).toBe(2n);
    await lease.unlock();
  });

  test("a reader that leaves does not free the lock of another whose key is yet to come [own-42]", async () => {
    const [one, other] = [patient(flavour), patient(flavour)];
    const name = newName();
    const leaving = await one.holdfast.getReadWriteLock(name).readLock().lock({ leaseMs: HOUR_MS });
    const staying = await other.holdfast.getReadWriteLock(name).readLock().lock({ leaseMs: HOUR_MS });
    const move = await beginMoveOf(name);
    await move.moveKeys(name, readHoldKey(name, leaving.holder, 1));
    await finishAmid(move, leaving.unlock());
    expect(await one.holdfast.getReadWriteLock(name).writeLock().tryLock()).toBeNull();
    await staying.unlock();
  });

  test("nor does a writer that goes on reading free its own, which another writer waits for [own-42]", async () => {
    const [one, other] = [patient(flavour), patient(flavour)];
    const name = newName();
    const lock = one.holdfast.getReadWriteLock(name, { fair: true });
    const writing = await lock.writeLock().lock({ leaseMs: HOUR_MS });
    const reading = await writing.run(() => lock.readLock().lock({ leaseMs: HOUR_MS }));
    const waiting = other.holdfast.getReadWriteLock(name, { fair: true }).writeLock().lock();
    await other.driver.waits();
    const move = await beginMoveOf(name);
    await move.moveKeys(name, waitingWriterKey(name));
    await finishAmid(move, writing.unlock());
    expect(await lock.readLock().isLocked()).toBe(true);
    await reading.unlock();
    await (await waiting).unlock();
  });
});

describe("a batch of renewals", () => {
  test("is sent lock by lock while some of them have moved", { timeout: LONG_MS }, async () => {
    const [flavour] = ioredisFlavours;
    if (flavour === undefined) throw new Error("there is no client");
    const driver = connect(flavour);
    const holdfast = new Holdfast(driver, { watchdogMs: WATCHDOG_MS });
    ends.push(() => holdfast.close({ releaseHeld: true }));
    const tag = `{${newName()}}`;
    const leases = await Promise.all(
      ["a", "b", "c"].map((part) => holdfast.getLock(`${tag}:${part}`).lock()),
    );
    const move = await beginMoveOf(tag);
    await move.moveKeys(`${tag}:b`);
    const endMs = performance.now() + 3 * WATCHDOG_MS;
    while (performance.now() < endMs) await new Promise(setImmediate);
    expect(leases.map(({ state }) => state)).toEqual(["held", "held", "held"]);
    await move.moveKeys();
    await move.finish();
    await Promise.all(leases.map((lease) => lease.unlock()));
  });
});
