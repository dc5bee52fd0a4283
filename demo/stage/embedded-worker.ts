import { type MemoryServer, memoryDriver } from "holdfast/memory";
import type { Stock } from "../tasks/task.js";
import type { InputOf, ResultOf, TaskName } from "../tasks/task-table.js";
import { CuttableDriver } from "./cuttable-driver.js";
import { asError } from "./failure.js";
import { GoAheads } from "./go-aheads.js";
import { Job } from "./job.js";
import { perform } from "./perform.js";
import type { JobSettings, Worker, WorkerName } from "./worker.js";

export interface EmbeddedSurroundings {
  readonly server: MemoryServer;
  readonly stock: Stock;
  readonly prefix: string;
}

/** A worker in this process, with a connection of its own to the embedded server. */
export class EmbeddedWorker implements Worker {
  readonly name: WorkerName;
  readonly identity = "a client in this process";
  readonly #surroundings: EmbeddedSurroundings;
  #driver: CuttableDriver | undefined;

  constructor(name: WorkerName, surroundings: EmbeddedSurroundings) {
    this.name = name;
    this.#surroundings = surroundings;
  }

  start<Name extends TaskName>(
    task: Name,
    input: InputOf<Name>,
    { tuning = {}, onReport }: JobSettings = {},
  ): Job<ResultOf<Name>> {
    const { server, stock, prefix } = this.#surroundings;
    const driver = new CuttableDriver(memoryDriver(server));
    this.#driver = driver;
    const goAheads = new GoAheads();
    const job = new Job<ResultOf<Name>>(() => goAheads.give(), onReport);
    perform<Name>(
      { task, input, tuning },
      { driver, stock, prefix, report: (report) => job.add(report), told: () => goAheads.wait() },
    ).then(
      (result) => job.finish(result),
      (error: unknown) => job.fail(asError(error)),
    );
    return job;
  }

  async cut(): Promise<void> {
    this.#driver?.cut();
  }
}
