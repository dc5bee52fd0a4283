import type { Report } from "../tasks/task.js";
import type { InputOf, ResultOf, TaskName } from "../tasks/task-table.js";
import type { Job } from "./job.js";

export const workerNames = ["A", "B", "C", "D"] as const;

export type WorkerName = (typeof workerNames)[number];

/** How the client of one job works; see `HoldfastOptions`. */
export interface ClientTuning {
  readonly watchdogMs?: number;
  readonly commandTimeoutMs?: number;
  readonly safetyPeriodMs?: number;
}

export interface JobSettings {
  readonly tuning?: ClientTuning;
  /** Called with each report as it comes in. */
  readonly onReport?: (report: Report) => void;
}

/** A job as it travels to a worker. */
export type Order = { readonly [Name in TaskName]: OrderOf<Name> }[TaskName];

export interface OrderOf<Name extends TaskName> {
  readonly task: Name;
  readonly input: InputOf<Name>;
  readonly tuning: ClientTuning;
}

/** Somebody with a client of its own who does one job at a time: a process, or a part of this one. */
export interface Worker {
  readonly name: WorkerName;
  /** What it is: `process 4711`. */
  readonly identity: string;
  start<Name extends TaskName>(task: Name, input: InputOf<Name>, settings?: JobSettings): Job<ResultOf<Name>>;
  /** Takes its connection away from the job that it does, for good. */
  cut(): Promise<void>;
}

/** A worker that the operating system can end and stop. */
export interface ProcessWorker extends Worker {
  readonly pid: number;
  /** Ends it in the midst of its work, by SIGKILL, without any chance to tidy up. @returns the signal that ended it */
  kill(): Promise<string>;
  /** Stops it where it stands, by SIGSTOP. */
  freeze(): void;
  /** Lets it run on, by SIGCONT. */
  thaw(): void;
}
