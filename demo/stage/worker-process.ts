import { type ChildProcess, fork } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { InputOf, ResultOf, TaskName } from "../tasks/task-table.js";
import { StageError } from "./failure.js";
import { Job } from "./job.js";
import type { Answer, Command } from "./process-message.js";
import type { JobSettings, OrderOf, Worker, WorkerName } from "./worker.js";

const PROGRAM = fileURLToPath(new URL("./worker-program.js", import.meta.url));
/** Starting a process takes a while on a machine that has a lot to do. */
const READY_WITHIN_MS = 60_000;
const END_WITHIN_MS = 3_000;

/** A worker that is a process of its own. */
export class WorkerProcess implements Worker {
  readonly name: WorkerName;
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  #job: Job<unknown> | undefined;

  /** Starts the process; {@link ready} tells when it can work. */
  constructor(name: WorkerName) {
    this.name = name;
    this.#child = fork(PROGRAM, [], { stdio: ["ignore", "ignore", "inherit", "ipc"], execArgv: [] });
    this.#exited = new Promise((resolve) => {
      const gone = () => {
        this.#job?.fail(this.#unexpectedEnd());
        resolve();
      };
      this.#child.once("exit", gone);
      // A message that cannot be sent any more is an error as well, but then `exit` says so.
      this.#child.on("error", () => this.#child.pid === undefined && gone());
    });
    this.#child.on("message", (answer) => this.#hear(answer as Answer));
  }

  get identity(): string {
    return `process ${this.#child.pid}`;
  }

  /** Resolves once the process is connected and waits for work. */
  async ready(url: string, prefix: string): Promise<void> {
    const job = new Job<unknown>(() => undefined);
    this.#job = job;
    this.#tell({ say: "connect", url, prefix });
    const lateness = sleep(READY_WITHIN_MS, undefined, { ref: false }).then(() => {
      throw new StageError(`worker ${this.name} did not start in ${READY_WITHIN_MS} ms`);
    });
    await Promise.race([job.result, lateness]);
  }

  start<Name extends TaskName>(
    task: Name,
    input: InputOf<Name>,
    { tuning = {}, onReport }: JobSettings = {},
  ): Job<ResultOf<Name>> {
    const job = new Job<ResultOf<Name>>(() => this.#tell({ say: "go on" }), onReport);
    this.#job = job as Job<unknown>;
    const order: OrderOf<Name> = { task, input, tuning };
    if (this.#child.connected) this.#tell({ say: "work", order } as Command);
    else job.fail(this.#unexpectedEnd());
    return job;
  }

  async kill(): Promise<string> {
    this.#child.kill("SIGKILL");
    await this.#exited;
    return `process ${this.#child.pid} was ended by ${this.#child.signalCode}`;
  }

  /** Lets it close its connections and end by itself, and kills it where it does not. Safe twice. */
  async end(): Promise<void> {
    this.#tell({ say: "end" });
    const patience = new AbortController();
    const impatient = sleep(END_WITHIN_MS, undefined, { signal: patience.signal }).then(
      () => this.#child.kill("SIGKILL"),
      () => undefined,
    );
    await this.#exited;
    patience.abort();
    await impatient;
  }

  #unexpectedEnd(): StageError {
    return new StageError(`worker ${this.name} ended unexpectedly`);
  }

  #tell(command: Command): void {
    if (this.#child.connected) this.#child.send(command);
  }

  #hear(answer: Answer): void {
    switch (answer.say) {
      case "ready":
        this.#job?.finish(null);
        break;
      case "report":
        this.#job?.add(answer.report);
        break;
      case "done":
        this.#job?.finish(answer.result);
        break;
      case "failed":
        this.#job?.fail(new StageError(`worker ${this.name}: ${answer.message}`));
        break;
      default:
        answer satisfies never;
    }
  }
}
