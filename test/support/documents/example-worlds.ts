import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider } from "@opentelemetry/sdk-trace-base";
import { Holdfast } from "holdfast";
import { type ConformanceHarness, conformanceCases } from "holdfast/driver-test";
import { inspector } from "holdfast/inspector";
import { FakeClock, MemoryServer, memoryDriver } from "holdfast/memory";
import { HoldfastInstrumentation } from "holdfast/otel";
import Redlock from "holdfast/redlock";
import type { Redis } from "ioredis";
import { type Reader, reader, type Values } from "./values.js";

/** The names, with their types, that only the examples of an owner or function use: the object of the method, and arguments. */
const PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  Holdfast: ["a: Holdfast", "b: Holdfast", "c: Holdfast"],
  FencedLock: ["lock: FencedLock"],
  ReadWriteLock: ["catalog: ReadWriteLock"],
  Permits: ["permits: Permits"],
  Semaphore: ["semaphore: Semaphore"],
  PermitExpirableSemaphore: ["semaphore: PermitExpirableSemaphore", "permits: Permits"],
  CountDownLatch: ["latch: CountDownLatch"],
  Redlock: ["redlock: Redlock", "lock: Lock"],
  RedlockLock: ["lock: Lock"],
  FakeClock: ["clock: FakeClock", "server: MemoryServer"],
  MemoryServer: ["server: MemoryServer", "clock: FakeClock", "script: ScriptSource"],
  Inspector: ["locks: Inspector", "request: Request"],
  HoldfastInstrumentation: [
    "instrumentation: HoldfastInstrumentation",
    "tracerProvider: TracerProvider",
    "meterProvider: MeterProvider",
  ],
  ConformanceCase: ["conformanceCase: ConformanceCase", "harness: ConformanceHarness"],
  missingAbilities: ['needs: ConformanceCase["needs"]', "harness: ConformanceHarness"],
  valkeyGlideDriver: ["client: GlideClient", "subscriber: GlideClient"],
};

/** Where the types of {@link PARAMETERS} are from, if not from the subpath of the example; "" for those that Node knows. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  Request: "",
  ScriptSource: "holdfast",
  TracerProvider: "@opentelemetry/api",
  MeterProvider: "@opentelemetry/api",
  GlideClient: "@valkey/valkey-glide",
};

/** @param of the owner of a method, or the name of a function */
export function parametersOf(of: string, specifier: string): string {
  const parameters = (PARAMETERS[of] ?? []).map((parameter) =>
    parameter.replace(/: (\w+)/, (_, type) => {
      const from = ELSEWHERE[type] ?? specifier;
      return from === "" ? `: ${type}` : `: import("${from}").${type}`;
    }),
  );
  return parameters.join(", ");
}

/**
 * A client on an embedded server, whose time stands still, and the objects of the owner.
 *
 * @param of the owner of a method, or the name of a function
 * @param redis a real server, for the examples of drivers
 */
export async function exampleWorld(
  of: string,
  redis: { readonly client: Redis; readonly url: string },
): Promise<Reader> {
  const clock = new FakeClock();
  const server = new MemoryServer({ clock });
  const servers = of === "Holdfast" ? [0, 1, 2].map(() => new MemoryServer({ clock })) : [];
  const clients = servers.map((other) => new Holdfast(memoryDriver(other), { clock }));
  const holdfast = new Holdfast(memoryDriver(server), { clock });
  const ordinary = await reader({ holdfast, redis: redis.client, url: redis.url, port: 0 });
  const [a, b, c] = clients;
  const lock = holdfast.getLock("order:42");
  const own = (await OBJECTS[of]?.({ holdfast, clock, server })) ?? {};
  return {
    ...ordinary,
    values: { ...ordinary.values, url: redis.url, a, b, c, lock, clock, server, ...own },
    async end() {
      await ordinary.end();
      server.comeBack();
      server.full(false);
      const closing = Promise.all(
        [...clients, holdfast].map((client) => client.close({ releaseHeld: true })),
      );
      await clock.advance(60_000);
      await closing;
    },
  };
}

interface Embedded {
  readonly holdfast: Holdfast;
  readonly clock: FakeClock;
  readonly server: MemoryServer;
}

/** Makes the values of {@link PARAMETERS}, by owner or function. */
const OBJECTS: Readonly<Record<string, (embedded: Embedded) => Promise<Values> | Values>> = {
  async Holdfast({ holdfast }) {
    await holdfast.getSemaphore("import-slots").trySetPermits(2);
    const partner = holdfast.getPermitExpirableSemaphore("partner-api");
    await partner.trySetPermits(5);
    const { ids } = await partner.acquire();
    return { id: ids[0] };
  },
  FencedLock: ({ holdfast }) => ({ lock: holdfast.getFencedLock("invoice:7") }),
  ReadWriteLock: ({ holdfast }) => ({ catalog: holdfast.getReadWriteLock("catalog") }),
  Lease: async ({ holdfast }) => ({ lease: await holdfast.lock("order:42", { leaseMs: 60_000 }) }),
  async Permits({ holdfast }) {
    const semaphore = holdfast.getPermitExpirableSemaphore("partner-api");
    await semaphore.trySetPermits(5);
    return { permits: await semaphore.acquire({ leaseMs: 60_000 }) };
  },
  async Semaphore({ holdfast }) {
    const semaphore = holdfast.getSemaphore("import-slots");
    await semaphore.trySetPermits(3);
    return { semaphore };
  },
  async PermitExpirableSemaphore({ holdfast }) {
    const semaphore = holdfast.getPermitExpirableSemaphore("partner-api");
    await semaphore.trySetPermits(5);
    return { semaphore, permits: await semaphore.acquire({ leaseMs: 60_000 }) };
  },
  CountDownLatch: ({ holdfast }) => ({ latch: holdfast.getCountDownLatch("import:2026-11-21") }),
  async Redlock({ holdfast }) {
    const redlock = new Redlock([holdfast]);
    return { redlock, lock: await redlock.acquire(["account:7"], 60_000) };
  },
  RedlockLock: async ({ holdfast }) => ({
    lock: await new Redlock([holdfast]).acquire(["account:7"], 60_000),
  }),
  async MemoryServer({ holdfast }) {
    const script = { name: "renew", lua: "return redis.call('pexpire', KEYS[1], ARGV[1])", sha1: "" };
    return { script, lease: await holdfast.lock("order:42") };
  },
  Inspector({ holdfast }) {
    const locks = inspector(holdfast, { authorize: () => ({ role: "read" }) });
    return { locks, request: new Request("http://127.0.0.1/locks") };
  },
  HoldfastInstrumentation: () => ({
    instrumentation: new HoldfastInstrumentation({ enabled: false }),
    tracerProvider: new BasicTracerProvider(),
    meterProvider: new MeterProvider(),
  }),
  ConformanceCase: ({ server }) => ({ conformanceCase: conformanceCases[0], harness: harnessOf(server) }),
  missingAbilities: ({ server }) => ({ needs: ["replicate"], harness: harnessOf(server) }),
};

function harnessOf(server: MemoryServer): ConformanceHarness {
  return { connect: async () => memoryDriver(server) };
}
