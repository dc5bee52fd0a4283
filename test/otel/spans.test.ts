import { once } from "node:events";
import { createRequire } from "node:module";
import { context, type Span, SpanStatusCode } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { registerInstrumentations } from "@opentelemetry/instrumentation";
import { IORedisInstrumentation } from "@opentelemetry/instrumentation-ioredis";
import { RedisInstrumentation } from "@opentelemetry/instrumentation-redis";
import type { createClient } from "redis";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { nodeRedisDriver } from "../../src/driver/node-redis/index.js";
import { events } from "../../src/events.js";
import { Holdfast, type HoldfastOptions } from "../../src/index.js";
import { aroundHolds, HoldfastInstrumentation } from "../../src/otel/index.js";
import { dropNextReply } from "../support/faults/proxy-faults.js";
import { endRecordings, recorded } from "../support/run/recorded-events.js";
import { until } from "../support/run/until.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { inMemorySdk } from "../support/worlds/otel.js";
import {
  commandsBelow,
  isScript,
  type SpanTrees,
  spanTrees,
  writeDownCommand,
} from "../support/worlds/span-trees.js";

const world = locksOnRedis();
endRecordings();
const require = createRequire(import.meta.url);
/** One for the whole file, as instrumentations patch a client once. */
const sdk = inMemorySdk();
const instrumentation = new HoldfastInstrumentation();
let unregister: (() => void) | undefined;
beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const options = { dbStatementSerializer: writeDownCommand, requireParentSpan: false };
  unregister = registerInstrumentations({
    tracerProvider: sdk.tracerProvider,
    meterProvider: sdk.meterProvider,
    instrumentations: [
      instrumentation,
      new IORedisInstrumentation(options),
      new RedisInstrumentation(options),
    ],
  });
  // They patch what is required from now on.
  require("ioredis");
  require("redis");
});
afterAll(async () => {
  unregister?.();
  context.disable();
  await sdk.shutdown();
});

const ends: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** A client of the server, or of what stands at another port. */
type Connect = (options?: HoldfastOptions, port?: number) => Promise<Holdfast>;

const libraries: Readonly<Record<string, Connect>> = {
  ioredis: async (options, port) => world.holdfast(options, port === undefined ? {} : { port }),
  "node-redis": async (options, port = world.server.port) => {
    const redis = (require("redis") as { createClient: typeof createClient })
      .createClient({ url: `redis://127.0.0.1:${port}` })
      .on("error", () => undefined);
    await redis.connect();
    const holdfast = new Holdfast(nodeRedisDriver(redis), options);
    ends.push(async () => {
      await holdfast.close();
      redis.destroy();
    });
    return holdfast;
  },
};

describe.each(Object.entries(libraries))("with the instrumentation of %s, the spans of", (library, open) => {
  /** A client that has met the server, so that what its first call does for all others is no part of the tree. */
  async function connect(options: HoldfastOptions = {}, port?: number): Promise<Holdfast> {
    const holdfast = await open(
      { around: aroundHolds({ tracerProvider: sdk.tracerProvider }), ...options },
      port,
    );
    await holdfast.ping();
    return holdfast;
  }

  /** A caller's own span around what it does. */
  function caller<T>(name: string, body: () => Promise<T>): Promise<T> {
    return sdk.tracerProvider.getTracer("test").startActiveSpan(name, async (span: Span) => {
      try {
        return await body();
      } finally {
        span.end();
      }
    });
  }

  const work = () => caller("work", async () => undefined);
  const isBegun = () => sdk.spans().length;
  /** The trees of what has happened since `from` spans had ended. */
  const treesSince = (from: number): SpanTrees => spanTrees(sdk.spans().slice(from), sdk.begunBefore);
  const acquireSpans = (from: number) =>
    sdk
      .spans()
      .slice(from)
      .filter(({ name }) => name === "holdfast acquire");

  test("a lone call", async () => {
    const holdfast = await connect();
    const from = isBegun();
    await caller("A", () => holdfast.using("a", work));
    expect(treesSince(from)).toEqual({
      callers: ["A", "  lock-acquire", "  holdfast hold", "    work", "  lock-release"],
      nobody: [],
    });
  });

  test("a contended call are in its own context, also those of what a message sends", async () => {
    const [ours, theirs] = [await connect(), await connect()];
    const contended = recorded(events.contended);
    const from = isBegun();
    const lease = await caller("A", () => ours.getLock("a").lock());
    const waiting = caller("B", () => theirs.using("a", work));
    await until(() => contended.length > 0);
    await caller("A again", () => lease.unlock());
    await waiting;
    const { callers, nobody } = treesSince(from);
    expect(callers).toEqual([
      ...["A", "  lock-acquire"],
      ...["B", "  holdfast acquire", "  lock-acquire", "  holdfast hold", "    work", "  lock-release"],
      ...["A again", "  lock-release"],
    ]);
    expect(nobody.filter((command) => command.startsWith("lock"))).toEqual([]);
    expect(acquireSpans(from).map(({ attributes }) => attributes)).toMatchObject([
      { "holdfast.seen_holder": lease.holder, "holdfast.lock.name": "a", "holdfast.behind": 0 },
    ]);
  });

  test("a hand-over between calls of one client", async () => {
    const holdfast = await connect();
    const contended = recorded(events.contended);
    const from = isBegun();
    const lease = await caller("A", () => holdfast.getLock("a").lock());
    const waiting = caller("B", () => holdfast.using("a", work));
    await until(() => contended.length > 0);
    await caller("A again", () => lease.unlock());
    await waiting;
    const { callers, nobody } = treesSince(from);
    expect(callers).toEqual([
      ...["A", "  lock-acquire"],
      // It asks for the lock after the hand-over.
      ...["B", "  holdfast acquire", "  lock-acquire", "  holdfast hold", "    work", "  lock-release"],
      "A again",
    ]);
    expect(nobody).toContain("lock-succeed");
    expect(acquireSpans(from).map(({ attributes }) => attributes)).toMatchObject([
      { "holdfast.via": "hand-off", "holdfast.seen_holder": lease.holder },
    ]);
  });

  test("a group: its command belongs to none of its callers", async () => {
    const holdfast = await connect();
    const from = isBegun();
    await Promise.all(["x", "y", "z"].map((name) => caller(name, () => holdfast.using(name, work))));
    expect(treesSince(from)).toEqual({
      callers: ["x", "y", "z"].flatMap((name) => [name, "  holdfast hold", "    work"]),
      nobody: ["lock-acquire", "lock-release"],
    });
  });

  test("a lease that is lost while its body runs", async () => {
    const holdfast = await connect();
    const from = isBegun();
    const using = caller("A", () =>
      holdfast.using("a", { watchdogMs: 1_000 }, async ({ signal }) => {
        await world.plain.del("a");
        await once(signal, "abort");
      }),
    );
    await expect(using).rejects.toMatchObject({ code: "ERR_HOLDFAST_LEASE_LOST" });
    expect(treesSince(from)).toEqual({
      callers: ["A", "  lock-acquire", "  holdfast hold", "    del"],
      nobody: ["lock-renew"],
    });
    const hold = sdk
      .spans()
      .slice(from)
      .find(({ name }) => name === "holdfast hold");
    expect(hold?.status.code).toBe(SpanStatusCode.ERROR);
    expect(hold?.events).toMatchObject([
      { name: "holdfast.lease.lost", attributes: { "holdfast.loss.reason": "stolen" } },
    ]);
  });

  test("a retry after a lost connection", async () => {
    const proxy = await world.proxy();
    const holdfast = await connect({ commandTimeoutMs: 1_000 }, proxy.port);
    const from = isBegun();
    proxy.inject(dropNextReply({ on: "retried" }));
    await caller("A", () => holdfast.using("retried", work));
    const { callers, nobody } = treesSince(from);
    expect(callers).toEqual(["A", "  lock-acquire", "  holdfast hold", "    work", "  lock-release"]);
    // Holdfast sends it again for its caller; ioredis does so by itself, in the context of its connection.
    const sent = commandsBelow(sdk.spans().slice(from), "A", "lock-acquire");
    expect({ sent, byItself: nobody.includes("lock-acquire") }).toEqual(
      library === "ioredis" ? { sent: 1, byItself: true } : { sent: 2, byItself: false },
    );
  });

  test("nested bodies", async () => {
    const holdfast = await connect();
    const from = isBegun();
    await caller("A", () => holdfast.using("a", () => holdfast.using("a", () => holdfast.using("b", work))));
    expect(treesSince(from)).toEqual({
      callers: [
        ...["A", "  lock-acquire", "  holdfast hold"],
        ...["    lock-acquire", "    holdfast hold"],
        ...["      lock-acquire", "      holdfast hold", "        work", "      lock-release"],
        ...["    lock-release", "  lock-release"],
      ],
      nobody: [],
    });
  });

  test("code in asThread", async () => {
    const holdfast = await connect();
    const from = isBegun();
    const lock = holdfast.getLock("a");
    await caller("A", () =>
      holdfast.asThread(async () => {
        await lock.lock();
        await lock.lock();
        await work();
        await lock.unlock();
        await lock.unlock();
      }),
    );
    expect(treesSince(from)).toEqual({
      callers: ["A", "  lock-acquire", "  work", "  lock-release"],
      nobody: [],
    });
  });

  test("a grant of a fair lock", async () => {
    const [ours, theirs] = [await connect(), await connect()];
    const from = isBegun();
    const lease = await caller("A", () => ours.getFairLock("a").lock());
    const waiting = caller("B", () => theirs.getFairLock("a").using(work));
    // A client that has just begun to listen looks after its place once: what it was given before is told by that look.
    await until(() =>
      sdk
        .spans()
        .slice(from)
        .some((span) => isScript(span, "fair-refresh")),
    );
    await caller("A again", () => lease.unlock());
    await waiting;
    expect(treesSince(from).callers).toEqual([
      ...["A", "  fair-acquire"],
      ...["B", "  holdfast acquire", "  fair-acquire", "  holdfast hold", "    work", "  fair-release"],
      ...["A again", "  fair-release"],
    ]);
    expect(acquireSpans(from).map(({ attributes }) => attributes)).toMatchObject([
      { "holdfast.via": "grant", "holdfast.seen_holder": lease.holder },
    ]);
  });

  test("leased permits", async () => {
    const [ours, theirs] = [await connect(), await connect()];
    const semaphore = ours.getPermitExpirableSemaphore("s");
    await semaphore.trySetPermits(1);
    const contended = recorded(events.contended);
    const from = isBegun();
    const permits = await caller("A", () => semaphore.acquire());
    const waiting = caller("B", () => theirs.getPermitExpirableSemaphore("s").using(work));
    await until(() => contended.length > 0);
    await caller("A again", () => permits.release());
    await waiting;
    expect(treesSince(from).callers).toEqual([
      ...["A", "  permit-acquire"],
      ...["B", "  holdfast acquire", "  permit-acquire", "  holdfast hold", "    work", "  permit-release"],
      ...["A again", "  permit-release"],
    ]);
    expect(acquireSpans(from).map(({ attributes }) => attributes)).toMatchObject([
      { "holdfast.lock.kind": "permit-expirable-semaphore", "holdfast.permits": 1 },
    ]);
    await semaphore.delete();
  });
});
