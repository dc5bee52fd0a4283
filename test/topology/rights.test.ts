import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { events } from "../../src/events.js";
import { Holdfast } from "../../src/holdfast.js";
import { destroyClient, quickEnd } from "../support/clients/ioredis-clients.js";
import { lockOfKind } from "../support/programs/kind-of-lock.js";
import { ask } from "../support/servers/ask.js";
import { documentedRights, documentedUser, knownRights } from "../support/servers/documented-rights.js";
import { isBefore7 } from "../support/servers/redis-program.js";
import { type ReplicatedRedis, startReplicated } from "../support/servers/replicated-redis.js";

const HOUR_MS = 3_600_000;
const kinds = [
  ...(["lock", "non-reentrant", "fair", "non-reentrant fair", "spin", "fenced", "read", "write"] as const),
  ...(["fair read", "fair write", "multi", "red"] as const),
];

let servers: ReplicatedRedis;
const clients: { readonly holdfast: Holdfast; readonly redis: Redis }[] = [];
/** What the server has refused. */
const refused = () => ask(servers.master, "ACL", "LOG");

beforeAll(async () => {
  servers = await startReplicated();
  await ask(servers.master, "ACL", "SETUSER", "orders", ...knownRights);
});
afterAll(async () => {
  await Promise.all(clients.map(({ holdfast }) => holdfast.close()));
  await Promise.all(clients.map(({ redis }) => destroyClient(redis)));
  await servers.stop();
});

function client(options = {}): Holdfast {
  const { port } = servers.master;
  const quiet = { disableClientInfo: true, enableReadyCheck: false };
  const redis = new Redis({ host: "127.0.0.1", port, ...documentedUser, ...quiet, ...quickEnd });
  const replicas = { mode: "require", timeoutMs: 5_000 } as const;
  const holdfast = new Holdfast(ioredisDriver(redis), {
    safetyPeriodMs: HOUR_MS,
    redMemberTimeoutMs: 3_000,
    replicas,
    commandTimeoutMs: 10_000,
    ...options,
  });
  clients.push({ holdfast, redis });
  return holdfast;
}

describe("a user with the rights that the guide names, and no more", () => {
  test.each(kinds)("holds, waits, looks and frees by force: %s", async (kind) => {
    const [one, other] = [client(), client()];
    const rival = kind === "read" ? "write" : kind === "fair read" ? "fair write" : kind;
    const lock = lockOfKind(one, kind, "order:7");
    const lease = await lock.lock({ leaseMs: HOUR_MS });
    const waiting = lockOfKind(other, rival, "order:7").lock({ leaseMs: HOUR_MS });
    await lease.run(() => (kind.startsWith("non-reentrant") ? undefined : lock.using(() => undefined)));
    await lease.unlock();
    await (await waiting).unlock();
    if (kind !== "multi" && kind !== "red") {
      await lock.lock({ leaseMs: HOUR_MS });
      await one.inspect("order:7");
      expect(await lock.forceUnlock()).toBe(true);
    }
    expect(await refused()).toEqual([]);
  });

  test("counts with semaphores and a latch", async () => {
    const [one, other] = [client(), client()];
    const [plain, leasing] = [
      one.getSemaphore("order:permits"),
      one.getPermitExpirableSemaphore("order:expirable"),
    ];
    for (const semaphore of [plain, leasing]) await semaphore.trySetPermits(1);
    await plain.using(async () => expect(await plain.availablePermits()).toBe(0));
    await leasing.using({ watchdog: true }, async () => expect(await leasing.availablePermits()).toBe(0));
    for (const semaphore of [plain, leasing]) {
      await semaphore.addPermits(1);
      expect(await semaphore.delete()).toBe(true);
    }
    const latch = one.getCountDownLatch("order:latch");
    await latch.trySetCount(1);
    const waiting = other.getCountDownLatch("order:latch").await();
    await latch.countDown();
    expect(await waiting).toBe(true);
    expect(await refused()).toEqual([]);
  });

  test("is kept from other names", async () => {
    await expect(client().getLock("other").lock()).rejects.toMatchObject({
      code: "ERR_HOLDFAST_UNAVAILABLE",
      message: expect.stringContaining("NOPERM"),
    });
    expect(await refused()).not.toEqual([]);
    await ask(servers.master, "ACL", "LOG", "RESET");
  });
});

test("Redis 6.2 refuses the line with the rights that it does not know", async ({ skip }) => {
  skip(!isBefore7(), "not applicable: from Redis 7.0 on all of them are known");
  await expect(ask(servers.master, "ACL", "SETUSER", "other", ...documentedRights)).rejects.toThrow(
    /spublish/,
  );
});

describe("a user without one of these rights", () => {
  async function without(...taken: readonly string[]): Promise<void> {
    await ask(servers.master, "ACL", "SETUSER", "orders", "reset", ...knownRights, ...taken);
  }

  test("to publish frees its locks all the same", async () => {
    await without("-publish");
    const lease = await client().getLock("order:7").lock();
    await lease.unlock();
    expect(await ask(servers.master, "EXISTS", "order:7")).toBe(0);
  });

  test("to subscribe waits all the same, by the TTL of who is in its way, and an event tells why", async () => {
    await without("-subscribe");
    const failed: unknown[] = [];
    const note = ({ error }: { readonly error: unknown }) => void failed.push(String(error));
    events.subscriptionFailed.subscribe(note);
    await client().getLock("order:7").lock({ leaseMs: 300 });
    await (await client().getLock("order:7").lock()).unlock();
    events.subscriptionFailed.unsubscribe(note);
    expect(failed[0]).toContain("NOPERM");
  });

  test("to ask for information takes the version on trust, and counts replicas by WAIT", async () => {
    await without("-info");
    const holdfast = client({ replicas: { mode: "require", min: "all" } });
    expect(await holdfast.getLock("order:7").using(({ state }) => state)).toBe("held");
  });

  test("to wait for replicas that are required is told so, and takes nothing", async () => {
    await without("-wait");
    await expect(client().getLock("order:7").lock()).rejects.toMatchObject({
      code: "ERR_HOLDFAST_UNAVAILABLE",
      message: expect.stringContaining("refuses WAIT"),
      outcomeUnknown: false,
    });
    expect(await ask(servers.master, "EXISTS", "order:7")).toBe(0);
    await client({ replicas: { mode: "auto" } })
      .getLock("order:7")
      .using(() => undefined);
  });
});
