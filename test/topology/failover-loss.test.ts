import { afterEach, describe, expect, test } from "vitest";
import type { ReplicaOptions } from "../../src/client-options.js";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { Holdfast } from "../../src/holdfast.js";
import type { RedisServer } from "../support/servers/redis-server.js";
import { type ReplicatedRedis, startReplicated } from "../support/servers/replicated-redis.js";
import type { Child } from "../support/worlds/child.js";
import { childPrograms } from "../support/worlds/child-programs.js";
import { overlaps, rest } from "../support/worlds/visits.js";

const start = childPrograms();
const started: { stop(): Promise<void> }[] = [];
afterEach(() => Promise.all(started.splice(0).map((servers) => servers.stop())));

const kinds = ["lock", "fair", "write", "semaphore", "permit"] as const;
const rooms = kinds.map((kind) => ({ lock: `order:${kind}`, kind }));
const [first, ...also] = rooms;
const LEASE_MS = 600_000;
/** How long a broken link is waited for. */
const SHORT_MS = 100;

/** A master with a replica, which has all permits. */
async function servers(): Promise<{ readonly servers: ReplicatedRedis; readonly replica: RedisServer }> {
  const servers = await startReplicated();
  started.push(servers);
  const [replica] = servers.replicas;
  if (replica === undefined) throw new Error("there is no replica");
  const client = servers.master.client();
  const holdfast = new Holdfast(ioredisDriver(client), { replicas: { mode: "require" } });
  await holdfast.getSemaphore("order:semaphore").trySetPermits(1);
  await holdfast.getPermitExpirableSemaphore("order:permit").trySetPermits(1);
  await holdfast.close();
  return { servers, replica };
}

function visitor(who: string, { port }: RedisServer, replicas: ReplicaOptions): Promise<Child> {
  if (first === undefined) throw new Error("there is nothing to hold");
  const at = { topology: "standalone", port } as const;
  return start("lock-visitor", { at, who, ...first, also, options: { replicas } });
}

/** What became of the wish to hold something of each kind. */
async function hold(child: Child): Promise<unknown[]> {
  const answers = rooms.map(({ lock }) => child.ask("hold", { lock, leaseMs: LEASE_MS }));
  return (await Promise.all(answers)).map(({ event, error }) =>
    event === "held" ? event : (error as { readonly code: string }).code,
  );
}

const all = <T>(value: T): T[] => kinds.map(() => value);

describe("a replica that is made the master by hand", () => {
  test("before it has seen what was locked with replicas off lets a second process in beside the first: the known loss", async () => {
    const { servers: replicated, replica } = await servers();
    const holder = await visitor("the holder", replicated.master, { mode: "off" });
    replicated.hold(replica);
    expect(await hold(holder)).toEqual(all("held"));
    await replicated.promote(replica);
    const rival = await visitor("the rival", replica, { mode: "off" });
    expect(await hold(rival)).toEqual(all("held"));
    const { visits } = await rest([rival, holder]);
    expect(overlaps(visits)).toHaveLength(kinds.length);
  });

  test("before it has seen what was locked lets in who comes, and nobody else believed to have it, with replicas required", async () => {
    const { servers: replicated, replica } = await servers();
    const holder = await visitor("the holder", replicated.master, { mode: "require", timeoutMs: SHORT_MS });
    replicated.hold(replica);
    expect(await hold(holder)).toEqual(all("ERR_HOLDFAST_NOT_REPLICATED"));
    await replicated.promote(replica);
    const rival = await visitor("the rival", replica, { mode: "off" });
    expect(await hold(rival)).toEqual(all("held"));
    const { visits } = await rest([rival, holder]);
    expect(overlaps(visits)).toEqual([]);
  });

  test("has all that was locked with replicas required, and keeps others out", async () => {
    const { servers: replicated, replica } = await servers();
    const holder = await visitor("the holder", replicated.master, { mode: "require" });
    expect(await hold(holder)).toEqual(all("held"));
    replicated.hold(replica);
    await replicated.promote(replica);
    const client = replica.client();
    const rival = new Holdfast(ioredisDriver(client), { replicas: { mode: "off" } });
    expect([
      await rival.getLock("order:lock").tryLock(),
      await rival.getFairLock("order:fair").tryLock(),
      await rival.getReadWriteLock("order:write").readLock().tryLock(),
      await rival.getSemaphore("order:semaphore").tryAcquire(),
      await rival.getPermitExpirableSemaphore("order:permit").tryAcquire(),
    ]).toEqual([null, null, null, false, null]);
    await rival.close();
    expect(await holder.ask("state")).toMatchObject({ state: "held" });
  });
});
