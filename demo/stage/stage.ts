import type { Holdfast } from "holdfast";
import type { LockName } from "../names.js";
import type { Stock } from "../tasks/task.js";
import type { ProcessWorker, Worker, WorkerName } from "./worker.js";

/** Where the scenes are played: a server, workers, and somebody who watches. */
export interface Stage {
  readonly kind: "embedded" | "redis";
  /** What the demo says about itself at its start, as rows of a label and a text. */
  readonly introduction: readonly (readonly [label: string, text: string])[];
  /** A client that takes no lock and only looks. */
  readonly observer: Holdfast;
  readonly stock: Stock;
  /** Gets the workers ready. @throws StageError */
  open(): Promise<void>;
  worker(name: WorkerName): Worker;
  /** The worker as a process of its own, also where the others are parts of this one; until it is replaced. @throws StageError */
  process(name: WorkerName): Promise<ProcessWorker>;
  /** Puts a new worker in the place of one that was ended. */
  replace(name: WorkerName): Promise<void>;
  /** Removes at the end what that client leaves about that semaphore, besides the keys that have known names. */
  alsoTidy(semaphore: LockName, clientId: string): void;
  /** Ends all workers, closes all connections, removes all keys. @returns how many keys were removed. Safe twice. */
  close(): Promise<number>;
}
