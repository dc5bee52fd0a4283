import { Holdfast } from "holdfast";
import { MemoryServer, memoryDriver } from "holdfast/memory";
import { allKeys, type LockName, newPrefix, requestsKey, stockKey } from "../names.js";
import type { Stock } from "../tasks/task.js";
import { EmbeddedWorker } from "./embedded-worker.js";
import { StageError } from "./failure.js";
import type { Stage } from "./stage.js";
import { type ProcessWorker, type Worker, type WorkerName, workerNames } from "./worker.js";
import { WorkerProcess } from "./worker-process.js";

/** The scenes on a stand-in for a server in this process, with four clients in this process as workers. */
export class EmbeddedStage implements Stage {
  readonly kind = "embedded";
  readonly introduction: Stage["introduction"];
  readonly observer: Holdfast;
  readonly stock: Stock;
  readonly #prefix = newPrefix();
  readonly #server = new MemoryServer();
  readonly #workers: Map<WorkerName, EmbeddedWorker>;
  /** An interrupted scene goes on behind the end of the demo, and may no longer start a process. */
  #isClosed = false;
  /** Those that stand in the place of a worker of this process, for a scene. */
  readonly #processes = new Map<WorkerName, WorkerProcess>();
  /** Keys that allKeys does not name. */
  readonly #others = new Set<string>();

  constructor() {
    this.observer = new Holdfast(memoryDriver(this.#server), { nameMapper: (name) => this.#prefix + name });
    this.stock = new EmbeddedStock(this.#server, stockKey(this.#prefix));
    this.#workers = new Map(workerNames.map((name) => [name, this.#newWorker(name)]));
    this.introduction = [
      [
        "Server",
        "the embedded one: an in-process stand-in that runs the same Lua scripts as a real Redis; " +
          "it coordinates one process only",
      ],
      [
        "Workers",
        `${workerNames.join(", ")}: four clients in this one process (${process.pid}); where one is killed or stopped, it is a ` +
          "process of its own for that scene, and this one passes its commands on",
      ],
      [
        "For real",
        '"npm run demo -- --redis redis://127.0.0.1:6379" plays the same with four processes on a Redis server',
      ],
    ];
  }

  async open(): Promise<void> {}

  worker(name: WorkerName): Worker {
    return this.#processes.get(name) ?? this.#workers.get(name) ?? this.#newWorker(name);
  }

  async process(name: WorkerName): Promise<ProcessWorker> {
    if (this.#isClosed) throw new StageError("the demo has ended");
    const worker = new WorkerProcess(name);
    this.#processes.set(name, worker);
    await worker.ready({ driver: memoryDriver(this.#server), stock: this.stock, prefix: this.#prefix });
    return worker;
  }

  async replace(name: WorkerName): Promise<void> {
    await this.#processes.get(name)?.end();
    this.#processes.delete(name);
    this.#workers.set(name, this.#newWorker(name));
  }

  alsoTidy(semaphore: LockName, clientId: string): void {
    this.#others.add(requestsKey(this.#prefix, semaphore, clientId));
  }

  async close(): Promise<number> {
    this.#isClosed = true;
    await Promise.all([...this.#processes.values()].map((worker) => worker.end()));
    await this.observer.close();
    return Number(this.#server.command("DEL", ...allKeys(this.#prefix), ...this.#others));
  }

  #newWorker(name: WorkerName): EmbeddedWorker {
    return new EmbeddedWorker(name, { server: this.#server, stock: this.stock, prefix: this.#prefix });
  }
}

class EmbeddedStock implements Stock {
  readonly #server: MemoryServer;
  readonly #key: string;
  #greatestToken = 0n;

  constructor(server: MemoryServer, key: string) {
    this.#server = server;
    this.#key = key;
  }

  async read(): Promise<number> {
    await wayToTheServer();
    return Number(this.#server.command("GET", this.#key));
  }

  async write(left: number): Promise<void> {
    await wayToTheServer();
    this.#server.command("SET", this.#key, left);
  }

  async writeFenced(left: number, token: bigint): Promise<boolean> {
    await wayToTheServer();
    if (token < this.#greatestToken) return false;
    this.#greatestToken = token;
    this.#server.command("SET", this.#key, left);
    return true;
  }
}

/** Takes a turn of the event loop, as every answer of a server does. */
function wayToTheServer(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
