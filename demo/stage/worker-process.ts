import { type ChildProcess, fork } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Driver } from "holdfast";
import type { Stock } from "../tasks/task.js";
import type { InputOf, ResultOf, TaskName } from "../tasks/task-table.js";
import { StageError } from "./failure.js";
import { Job } from "./job.js";
import type { Answer, Command } from "./process-message.js";
import { Relay } from "./relay.js";
import type { JobSettings, OrderOf, ProcessWorker, WorkerName } from "./worker.js";

const PROGRAM = fileURLToPath(new URL("./worker-program.js", import.meta.url));
/** Starting a process takes a while on a machine that has a lot to do. */
const READY_WITHIN_MS = 60_000;
const END_WITHIN_MS = 3_000;

/** The server that a worker process uses: one with a URL, or the one in this process, which has none. */
export type ServerOfWorker =
  | { readonly url: string; readonly prefix: string }
  | { readonly driver: Driver; readonly stock: Stock; readonly prefix: string };

/** A worker that is a process of its own. */
export class WorkerProcess implements ProcessWorker {
  readonly name: WorkerName;
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  #job: Job<unknown> | undefined;
  #relay: Relay | undefined;
  #cutOff: (() => void) | undefined;

  /** Starts the process; {@link ready} tells when it can work. */
  constructor(name: WorkerName) {
    this.name = name;
    this.#child = fork(PROGRAM, [], {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      execArgv: [],
      serialization: "advanced",
    });
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
    return `process ${this.pid}`;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Resolves once the process is connected and waits for work. */
  async ready(server: ServerOfWorker): Promise<void> {
    const job = new Job<unknown>(() => undefined);
    this.#job = job;
    if ("driver" in server)
      this.#relay = new Relay(server.driver, server.stock, (news) => this.#tell({ say: "relayed", news }));
    this.#tell({ say: "connect", url: "url" in server ? server.url : undefined, prefix: server.prefix });
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
    return String(this.#child.signalCode);
  }

  freeze(): void {
    this.#child.kill("SIGSTOP");
  }

  thaw(): void {
    this.#child.kill("SIGCONT");
  }

  cut(): Promise<void> {
    return new Promise((resolve) => {
      this.#cutOff = resolve;
      this.#tell({ say: "cut" });
    });
  }

  /** Lets it close its connections and end by itself, and kills it where it does not. Safe twice. */
  async end(): Promise<void> {
    this.#tell({ say: "end" });
    this.thaw();
    const patience = new AbortController();
    const impatient = sleep(END_WITHIN_MS, undefined, { signal: patience.signal }).then(
      () => this.#child.kill("SIGKILL"),
      () => undefined,
    );
    await this.#exited;
    patience.abort();
    await impatient;
    await this.#relay?.close();
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
      case "relay":
        this.#relay?.hear(answer.id, answer.request);
        break;
      case "cut off":
        this.#cutOff?.();
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
