import { Session } from "node:inspector";
import { promiseHooks } from "node:v8";
import type { Driver, Lease, Lock, LockOptions } from "holdfast";
import { settings, tell } from "./orders.js";

/** Makes calls of all kinds, one after the other, on the embedded server, and tells what each of them crosses inside the package. */
export interface PathCostsSettings {
  /** Whether it also tells which functions have run. */
  readonly named: boolean;
  /** Whether its clients have presence. Default: false. */
  readonly presence?: boolean;
}

/** What a call crosses, by V8's own records: the numbers are the same on any machine. */
export interface PathCosts {
  /** Promises that are made beside the one that the call returns; the driver makes one for each command. */
  readonly promises: number;
  /** Functions that run, each counted once; what sets the fields of a class belongs to its constructor. */
  readonly functions: number;
  /** Files that these are in. */
  readonly files: number;
  /** Those of the files that decide: of `locks/`, or of `synchronizers/`. */
  readonly deciding: number;
}

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
    }[];
  }[];
}

const { named, presence = false } = settings<PathCostsSettings>();
/** The sources module by module: the package is bundled, and its files say nothing. */
const root = new URL("../../../modules/", import.meta.url).href;
const { Holdfast: Client }: typeof import("holdfast") = await import(`${root}index.js`);
const { FakeClock, MemoryServer, memoryDriver }: typeof import("holdfast/memory") = await import(
  `${root}memory/index.js`
);
// A script is hashed once in a process, with its first use: before anything is counted.
const scripts: typeof import("../../../src/protocol/scripts.js") = await import(`${root}protocol/scripts.js`);
for (const script of Object.values(scripts)) if (typeof script === "object") void script.sha1;
/** The embedded server stands for one that is elsewhere, and it is chance whether a collection of garbage was asked for before. */
const LEFT_OUT = ["memory/", "environment.js"];
// Nor does any object become garbage while a walk is counted.
globalThis.FinalizationRegistry = class {
  readonly [Symbol.toStringTag] = "FinalizationRegistry";
  register(): void {
    // It would never be told.
  }
  unregister(): boolean {
    return false;
  }
};
globalThis.WeakRef = class<T extends WeakKey> {
  readonly [Symbol.toStringTag] = "WeakRef";
  readonly #target: T;

  constructor(target: T) {
    this.#target = target;
  }

  deref(): T {
    return this.#target;
  }
};

const session = new Session();
session.connect();
let promises = 0;
let isCounting = false;
promiseHooks.onInit(() => {
  if (isCounting) promises += 1;
});

function post<T>(method: string, params: object = {}): Promise<T> {
  return new Promise((resolve, reject) => {
    session.post(method, params, (error, result) => {
      if (error === null) resolve(result as T);
      else reject(error);
    });
  });
}

/** The functions of the package that have run since the last time, each as `file:name`. */
async function takeFunctions(): Promise<readonly string[]> {
  const { result } = await post<Coverage>("Profiler.takePreciseCoverage");
  return result.flatMap(({ url, functions }) => {
    const file = url.slice(root.length);
    if (!url.startsWith(root) || LEFT_OUT.some((left) => file.startsWith(left))) return [];
    return functions.flatMap(({ functionName, ranges: [range] }) => {
      const isModule = functionName === "" && range?.startOffset === 0;
      const isOfConstructor = functionName === "<instance_members_initializer>";
      if (range === undefined || range.count === 0 || isModule || isOfConstructor) return [];
      return [`${file}:${functionName || `(${range.startOffset})`}`];
    });
  });
}

/** Lets so many turns of the event loop pass. Makes one promise. */
function turns(count: number): Promise<void> {
  return new Promise((resolve) => {
    let left = count;
    const next = () => {
      left -= 1;
      if (left < 0) resolve();
      else setImmediate(next);
    };
    next();
  });
}

/** What measuring itself makes. */
let ownPromises = 0;

/** @param steps what is waited for one after the other */
async function measure(...steps: readonly (() => Promise<unknown>)[]): Promise<readonly string[]> {
  await turns(2);
  await takeFunctions();
  promises = 0;
  isCounting = true;
  for (const step of steps) await step();
  isCounting = false;
  return takeFunctions();
}

async function walk(name: string, ...steps: readonly (() => Promise<unknown>)[]): Promise<void> {
  const names = await measure(...steps);
  const files = new Set(names.map((each) => each.slice(0, each.indexOf(":"))));
  const deciding = [...files].filter((file) => /^(locks|synchronizers)\//.test(file));
  const costs: PathCosts = {
    promises: promises - ownPromises * steps.length,
    functions: names.length,
    files: files.size,
    deciding: deciding.length,
  };
  tell("walk", { name, costs, ...(named && { names }) });
}

/** One promise for each command. */
function directDriver(server: InstanceType<typeof MemoryServer>): Driver {
  const own = memoryDriver(server);
  return {
    traits: { server: server.name, topology: "standalone" },
    resets: 0,
    run: ({ script, keys, args }) => new Promise((resolve) => resolve(server.evaluate(script, keys, args))),
    subscribe: (channel, listener) => own.subscribe(channel, listener),
    close: () => own.close(),
  };
}

const clock = new FakeClock();
const server = new MemoryServer({ clock });
const client = (at = server) => new Client(directDriver(at), { clock, presence });

await post("Profiler.enable");
await post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
const done = Promise.resolve();
await measure(() => done);
// And the promise that a call returns.
ownPromises = promises + 1;

const [ours, theirs] = [client(), client()];
const [lock, same] = [ours.getLock("order:7"), theirs.getLock("order:7")];

/** Starts a call, and keeps what it will bring. */
class Call<T> {
  result: Promise<T> | undefined;
  readonly start: () => Promise<T>;

  constructor(call: () => Promise<T>) {
    this.start = () => {
      this.result = call();
      return this.result;
    };
  }

  async taken(): Promise<T> {
    if (this.result === undefined) throw new Error("it was not called");
    return this.result;
  }
}

/** Takes a lock and releases it, for the second time: the first has to learn of the server. */
async function lockAndUnlock(kind: string, of: Lock, options?: LockOptions): Promise<void> {
  await (await of.lock(options)).unlock();
  const call = new Call(() => of.lock(options));
  await walk(`${kind}: lock()`, call.start);
  const lease = await call.taken();
  await walk(`${kind}: unlock()`, () => lease.unlock());
}

for (const each of [lock, same]) for (let i = 0; i < 3; i += 1) await (await each.lock()).unlock();
await lockAndUnlock("lock", lock);
const held = await lock.lock();
await walk("lock: tryLock() that is refused", () => same.tryLock());

const waiting = new Call(() => same.lock());
const untilAsleep = (call: Call<Lease>) => () => {
  void call.start();
  return turns(12);
};
await walk("lock: lock() of another client, until it sleeps", untilAsleep(waiting));
await walk(
  "lock: unlock(), message, entry of the other client",
  () => held.unlock(),
  () => waiting.taken(),
);
const theirLease = await waiting.taken();
const next = new Call(() => same.lock());
await walk("lock: lock() of the same client, until it sleeps", untilAsleep(next));
await walk(
  "lock: unlock() that hands over, entry of the next",
  () => theirLease.unlock(),
  () => next.taken(),
);
await turns(12);
await (await next.taken()).unlock();

await lockAndUnlock("lock with a chosen id", lock, { threadId: 7 });
await lockAndUnlock("non-reentrant lock", ours.getNonReentrantLock("order:8"));
await lockAndUnlock("spin lock", ours.getSpinLock("order:9"));
await lockAndUnlock("fenced lock", ours.getFencedLock("order:10"));
await lockAndUnlock("fair lock", ours.getFairLock("order:11"));
const pair = ours.getReadWriteLock("order:12");
await lockAndUnlock("read lock", pair.readLock());
await lockAndUnlock("write lock", pair.writeLock());
await lockAndUnlock(
  "multi lock of two",
  ours.getMultiLock(ours.getLock("order:13"), ours.getLock("order:14")),
);
const servers = [1, 2, 3].map(() => client(new MemoryServer({ clock })).getLock("order:15"));
await lockAndUnlock("red lock of three", ours.getRedLock(...servers));

await walk("lock: using()", () => lock.using(() => undefined));
await walk("lock: using() in using()", () => lock.using(() => lock.using(() => undefined)));

/** What another client does that wants what is taken, and is told that it has come. */
async function waitFor(kind: string, verb: string, wait: () => Promise<unknown>, come: () => void) {
  const call = new Call(wait);
  await walk(`${kind}: ${verb} of another client, until it sleeps`, () => {
    void call.start();
    return turns(12);
  });
  await walk(`${kind}: message, entry of the other client`, () => {
    come();
    return call.taken();
  });
}

const permitComes = (name: string) => () => {
  server.command("INCRBY", name, 1);
  server.command("PUBLISH", `redisson_sc:{${name}}`, "1");
};

const [semaphore, sameSemaphore] = [ours.getSemaphore("semaphore"), theirs.getSemaphore("semaphore")];
await semaphore.trySetPermits(1);
for (const each of [semaphore, sameSemaphore]) await each.using(() => undefined);
await walk("semaphore: acquire()", () => semaphore.acquire());
await walk("semaphore: tryAcquire() that is refused", () => sameSemaphore.tryAcquire());
await walk("semaphore: release() that nobody hears", () => semaphore.release());
await walk("semaphore: using() that nobody hears", () => semaphore.using(() => undefined));
await semaphore.acquire();
await waitFor("semaphore", "acquire()", () => sameSemaphore.acquire(), permitComes("semaphore"));
await walk("semaphore: release()", () => semaphore.release());
await walk("semaphore: using()", () => semaphore.using(() => undefined));

const leasing = ours.getPermitExpirableSemaphore("permits");
const sameLeasing = theirs.getPermitExpirableSemaphore("permits");
await leasing.trySetPermits(1);
for (const each of [leasing, sameLeasing]) await (await each.acquire()).release();
await walk("leased permit: using() that nobody hears", () => leasing.using(() => undefined));
const permit = new Call(() => leasing.acquire());
await walk("leased permit: acquire()", permit.start);
const permits = await permit.taken();
await walk("leased permit: tryAcquire() that is refused", () => sameLeasing.tryAcquire());
await waitFor("leased permit", "acquire()", () => sameLeasing.acquire(), permitComes("permits"));
await walk("leased permit: release()", () => permits.release());
await walk("leased permit: using()", () => leasing.using(() => undefined));

const [latch, sameLatch] = [ours.getCountDownLatch("latch"), theirs.getCountDownLatch("latch")];
await latch.await();
await walk("latch: await() of an open one", () => latch.await());
await latch.trySetCount(1);
await waitFor(
  "latch",
  "await()",
  () => sameLatch.await(),
  () => {
    server.command("DEL", "latch");
    server.command("PUBLISH", "redisson_countdownlatch__channel__{latch}", "0");
  },
);
process.exit(0);
