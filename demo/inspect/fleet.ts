import { setTimeout as sleep } from "node:timers/promises";
import { Holdfast } from "holdfast";
import { type MemoryServer, memoryDriver } from "holdfast/memory";
import { CuttableDriver } from "../stage/cuttable-driver.js";

/** How long the batch job works before it falls silent, and how long its lock then is left alone. */
const HEALTHY_MS = 20_000;
const SILENT_MS = 60_000;
const BEAT_MS = 1_000;
const EMPTIED_EACH_MS = 75_000;

/** A pause of between so many milliseconds. */
function between(leastMs: number, mostMs: number): number {
  return leastMs + Math.random() * (mostMs - leastMs);
}

/** A small shop at work, on a server in this process: programs that fight for locks, and one that dies again and again. */
export class Fleet {
  readonly #server: MemoryServer;
  readonly #ended = new AbortController();
  readonly #clients = new Set<Holdfast>();
  #orders = 41;

  constructor(server: MemoryServer) {
    this.#server = server;
  }

  start(): void {
    for (const pod of ["web-1", "web-2", "web-3"]) this.#work(this.#join("api", pod), this.#order);
    for (const pod of ["billing-1", "billing-2"]) this.#work(this.#join("billing", pod), this.#stock);
    for (const pod of ["reports-1", "reports-2", "reports-3"])
      this.#work(this.#join("reports", pod), this.#report);
    for (const pod of ["search-1", "search-2"]) this.#work(this.#join("search", pod), this.#readCatalogue);
    this.#work(this.#join("importer", "batch-1"), this.#writeCatalogue);
    this.#work(this.#join("scheduler", "batch-2"), this.#lead);
    this.#work(this.#join("scheduler", "batch-3"), this.#lead);
    this.#work(this.#join("carts", "web-4"), this.#carts);
    void this.#nightly();
    void this.#mishaps();
  }

  async close(): Promise<void> {
    this.#ended.abort();
    await Promise.all([...this.#clients].map((client) => client.close()));
  }

  #join(app: string, pod: string, driver = memoryDriver(this.#server)): Holdfast {
    const client = new Holdfast(driver, {
      presence: { app, host: false, labels: { pod, region: "eu" }, everyMs: BEAT_MS },
    });
    this.#clients.add(client);
    return client;
  }

  /** Goes on when a task fails: the lock was lost, or freed from the page. */
  #work(client: Holdfast, task: (client: Holdfast) => Promise<void>): void {
    const { signal } = this.#ended;
    const goOn = async () => {
      while (!signal.aborted) {
        await task.call(this, client).catch(() => undefined);
        await this.#pause(between(200, 2_500));
      }
    };
    void goOn();
  }

  /** Holds a lock for a while, and not beyond its loss. */
  async #pause(ms: number, lost?: AbortSignal): Promise<void> {
    const signal = lost === undefined ? this.#ended.signal : AbortSignal.any([this.#ended.signal, lost]);
    await sleep(ms, undefined, { signal }).catch(() => undefined);
  }

  async #order(client: Holdfast): Promise<void> {
    const { signal } = this.#ended;
    await client
      .getFencedLock("order:42")
      .using({ signal, note: `invoice ${++this.#orders}` }, async (lease) => {
        await this.#pause(between(3_000, 14_000), lease.signal);
      });
  }

  async #stock(client: Holdfast): Promise<void> {
    const { signal } = this.#ended;
    const note = `basket ${Math.floor(between(8_000, 9_000))}`;
    await client.getLock("stock:eu:reserve").using({ signal, note }, async (lease) => {
      await this.#pause(between(1_500, 6_000), lease.signal);
    });
  }

  async #report(client: Holdfast): Promise<void> {
    const { signal } = this.#ended;
    await client.getFairLock("report:daily").using({ signal, note: "page by page" }, async (lease) => {
      await this.#pause(between(4_000, 9_000), lease.signal);
    });
  }

  async #readCatalogue(client: Holdfast): Promise<void> {
    const { signal } = this.#ended;
    const lock = client.getReadWriteLock("catalogue").readLock();
    await lock.using({ signal, note: "index" }, async (lease) => {
      await this.#pause(between(6_000, 20_000), lease.signal);
    });
  }

  async #writeCatalogue(client: Holdfast): Promise<void> {
    const { signal } = this.#ended;
    const lock = client.getReadWriteLock("catalogue").writeLock();
    await lock.using({ signal, note: "new prices" }, async (lease) => {
      await this.#pause(between(4_000, 8_000), lease.signal);
    });
    await this.#pause(between(10_000, 30_000));
  }

  async #lead(client: Holdfast): Promise<void> {
    const { signal } = this.#ended;
    await client.getFencedLock("leader:scheduler").using({ signal }, async (lease) => {
      await this.#pause(600_000, lease.signal);
    });
  }

  /** Many short locks that nobody waits for: they are in the chart of acquisitions alone. */
  async #carts(client: Holdfast): Promise<void> {
    const { signal } = this.#ended;
    for (let cart = 0; cart < 40 && !signal.aborted; cart += 1) {
      await client.getLock(`cart:${cart}`).using({ signal }, async () => {
        await this.#pause(between(5, 25));
      });
    }
  }

  /** Its process dies with the lock: the page tells that it is gone, and after a while that its lock is stale. */
  async #nightly(): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      const driver = new CuttableDriver(memoryDriver(this.#server));
      const client = this.#join("jobs", "batch-9", driver);
      const lease = await client
        .getLock("nightly:rebuild")
        .lock({ signal, note: "full rebuild" })
        .catch(() => undefined);
      await this.#pause(HEALTHY_MS, lease?.signal);
      driver.cut();
      await this.#pause(SILENT_MS);
      this.#clients.delete(client);
      await client.close().catch(() => undefined);
    }
  }

  /** Somebody empties a key by hand, so that a holder loses its lease. */
  async #mishaps(): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      await this.#pause(EMPTIED_EACH_MS);
      if (!signal.aborted) this.#server.command("DEL", "leader:scheduler");
    }
  }
}
