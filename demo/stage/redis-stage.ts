import { Holdfast } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import type { Redis } from "ioredis";
import { allKeys, type LockName, newPrefix, requestsKey } from "../names.js";
import type { Stock } from "../tasks/task.js";
import { StageError } from "./failure.js";
import { connectRedis, withoutSecrets } from "./redis-connection.js";
import { RedisStock } from "./redis-stock.js";
import type { Stage } from "./stage.js";
import { type ProcessWorker, type WorkerName, workerNames } from "./worker.js";
import { WorkerProcess } from "./worker-process.js";

/** The scenes on a real server, with four processes as workers. */
export class RedisStage implements Stage {
  readonly kind = "redis";
  readonly observer: Holdfast;
  readonly stock: Stock;
  readonly #url: string;
  readonly #redis: Redis;
  readonly #prefix = newPrefix();
  readonly #workers = new Map<WorkerName, WorkerProcess>();
  /** Keys that allKeys does not name. */
  readonly #others = new Set<string>();
  #closing: Promise<number> | undefined;

  private constructor(url: string, redis: Redis) {
    this.#url = url;
    this.#redis = redis;
    this.observer = new Holdfast(ioredisDriver(redis), { nameMapper: (name) => this.#prefix + name });
    this.stock = new RedisStock(redis, this.#prefix);
  }

  /** @throws StageError */
  static async connect(url: string): Promise<RedisStage> {
    return new RedisStage(url, await connectRedis(url));
  }

  get introduction(): Stage["introduction"] {
    const processes = [...this.#workers.values()].map(({ name, identity }) => `${name} is ${identity}`);
    return [
      ["Server", withoutSecrets(this.#url)],
      ["Workers", `four processes of their own: ${processes.join(", ")}`],
      ["Keys", `${this.#prefix}*, no others, removed at the end`],
    ];
  }

  async open(): Promise<void> {
    await Promise.all(workerNames.map((name) => this.replace(name)));
  }

  worker(name: WorkerName): WorkerProcess {
    const worker = this.#workers.get(name);
    if (worker === undefined) throw new StageError(`there is no worker ${name}`);
    return worker;
  }

  async process(name: WorkerName): Promise<ProcessWorker> {
    return this.worker(name);
  }

  async replace(name: WorkerName): Promise<void> {
    await this.#workers.get(name)?.end();
    // A scene that was interrupted goes on behind the end of the demo: it would leave this process behind.
    if (this.#closing !== undefined) throw new StageError("the demo has ended");
    const worker = new WorkerProcess(name);
    this.#workers.set(name, worker);
    await worker.ready({ url: this.#url, prefix: this.#prefix });
  }

  alsoTidy(semaphore: LockName, clientId: string): void {
    this.#others.add(requestsKey(this.#prefix, semaphore, clientId));
  }

  close(): Promise<number> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<number> {
    await Promise.all([...this.#workers.values()].map((worker) => worker.end()));
    await this.observer.close();
    try {
      return await this.#redis.del(...allKeys(this.#prefix), ...this.#others);
    } finally {
      this.#redis.disconnect();
    }
  }
}
