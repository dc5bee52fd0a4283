import { AsyncLocalStorage } from "node:async_hooks";
import { createServer, type Server } from "node:http";
import { type Span, trace } from "@opentelemetry/api";
import { registerInstrumentations } from "@opentelemetry/instrumentation";
import { Holdfast, UnavailableError } from "holdfast";
import { inspector } from "holdfast/inspector";
import { ioredisDriver } from "holdfast/ioredis";
import { FakeClock, MemoryServer, memoryDriver } from "holdfast/memory";
import { type RunCoordinator, runOnce } from "holdfast/recipes";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { expect, test, vi } from "vitest";

/** Values by the names that code of a document uses without declaring them. */
export type Values = Readonly<Record<string, unknown>>;

/** One for each page, or each example. */
export interface Reader {
  /** A value for each name of `names.ts`, and for globals of Node whose effects must stay inside the test. */
  readonly values: Values;
  /** The signal of the values. */
  readonly signal: AbortSignal;
  abort(): void;
  /** Runs the handlers that code registered for the end of the process, and closes the clients and servers that it made. */
  end(): Promise<void>;
}

/** The clients of a page, and the address of their server. */
export interface Place {
  readonly holdfast: Holdfast;
  readonly redis: Redis;
  readonly url: string;
  readonly port: number;
}

const done = () => Promise.resolve();

/** The reader's own functions do nothing, and succeed at once. */
export async function reader({ holdfast, redis, url, port }: Place): Promise<Reader> {
  const controller = new AbortController();
  const atEnd: (() => unknown)[] = [];
  const clock = new FakeClock();
  const embedded = new Holdfast(memoryDriver(new MemoryServer({ clock })), { clock });
  const lease = await embedded.lock("order:42");
  atEnd.push(() => Promise.all([embedded.close(), clock.advance(60_000)]));
  const place = { host: "127.0.0.1", port };

  class ReadersRedis extends Redis {
    /** Whatever the address in the document. */
    constructor(_address: unknown) {
      super(url);
      atEnd.push(() => this.disconnect());
    }
  }
  const readersServer = (...args: Parameters<typeof createServer>): Server => {
    const server = createServer(...args);
    atEnd.push(() => server.close());
    return server;
  };
  const readersClient = () => {
    const client = createClient({ url });
    atEnd.push(() => client.destroy());
    return client;
  };

  const values = {
    Holdfast,
    Redis: ReadersRedis,
    UnavailableError,
    inspector,
    ioredisDriver,
    runOnce,
    holdfast,
    lock: holdfast.getLock("account:7"),
    lease,
    driver: memoryDriver(),
    redis,
    authorize: () => ({ role: "read" }),

    expect,
    test,
    vi,
    createServer: readersServer,
    createClient: readersClient,
    registerInstrumentations: (options: Parameters<typeof registerInstrumentations>[0]) =>
      atEnd.push(registerInstrumentations(options)),
    cron: cronThatFires(atEnd),
    tracer: tracerThatWaits(atEnd),

    url: () => url,
    host: place.host,
    port: 0,
    name: "order:42",
    nodes: [place],
    sentinels: [place],
    rootNodes: [{ url }],
    sentinelRootNodes: [place],
    signal: controller.signal,

    order: { id: "42" },
    message: { customer: "8", number: 7 },
    parts: ["orders-1.csv"],
    rows: ["row"],
    changes: ["change"],
    page: "page",
    id: "8",
    file: "orders-1.csv",
    senderId: "account:1",
    recipientId: "account:2",

    work: done,
    lead: done,
    pay: done,
    report: done,
    schedule: () => new Promise(setImmediate),
    createPool: () => ({}),
    fetchUser: async () => "Ada",
    isReady: async () => true,
    audit: done,
    debit: done,
    credit: done,
    first: done,
    second: done,
    increment: done,
    load: async () => "page",
    print: () => undefined,
    show: () => undefined,
    importFile: done,
    importBig: done,
    block: (ms: number) => clock.block(ms),
    confirmed: async () => true,
    charge: done,
    ship: done,
    apply: done,
    save: done,
    transfer: done,
    settle: done,
    publish: done,
    count: () => undefined,
    myDriver: async () => memoryDriver(),
    context: new AsyncLocalStorage(),
    log: { warn: () => undefined },
    metrics: { gauge: () => undefined },
    database: { save: done, query: async () => ({ rowCount: 1 }) },
    cache: { get: async () => undefined, set: done },
    store: { lastNumber: async () => 6, setLastNumber: done },
    task: { stop: done },

    fetch: async () => Response.json({ cents: 100 }),
    console: { log: () => undefined },
    process: { env: {}, once: (_signal: string, handler: () => unknown) => void atEnd.push(handler) },
  };
  return {
    values,
    signal: controller.signal,
    abort: () => controller.abort(),
    async end() {
      // The latest first: a handler for the end closes the client of the page.
      for (const end of atEnd.reverse()) await end();
    },
  };
}

/** Code of documents does not wait for the body of a span, so the end does. */
function tracerThatWaits(atEnd: (() => unknown)[]) {
  return {
    startActiveSpan(name: string, body: (span: Span) => unknown) {
      const result = trace.getTracer("documents").startActiveSpan(name, body);
      atEnd.push(() => result);
      return result;
    },
  };
}

/** Fires each task once, at once, as node-cron fires it at the times of the schedule. */
function cronThatFires(atEnd: (() => unknown)[]) {
  let coordinator: RunCoordinator | undefined;
  const fire = async (
    task: (fire: { readonly date: Date }) => unknown,
    options: { readonly name?: string },
  ) => {
    const date = new Date();
    const key = `${options.name}:${date.toISOString()}`;
    if ((await coordinator?.shouldRun(key, 60_000)) === false) return;
    await task({ date });
    await coordinator?.onComplete(key);
  };
  return {
    setRunCoordinator(to: RunCoordinator) {
      coordinator = to;
    },
    schedule(_expression: string, task: (fire: { readonly date: Date }) => unknown, options = {}) {
      const fired = fire(task, options);
      atEnd.push(() => fired);
    },
  };
}
