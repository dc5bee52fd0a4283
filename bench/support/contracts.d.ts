import type { HoldfastOptions } from "../../src/index.js";
import type { ServerKind } from "./servers.mjs";

/** A library, or a variant of one, as all scenarios use it. */
export interface Library {
  /** What `--library` says. */
  readonly name: string;
  /** What the bars compare: us, the peers, what the clients can do by themselves, and the rest. */
  readonly role: "ours" | "peer" | "raw" | "other";
  readonly server: ServerKind;
  /** npm packages whose versions are printed. */
  readonly packages: readonly string[];
  /** Of what is no npm package. */
  readonly version?: string;
  readonly claims: Claims;
  /** Its locks are taken by another process than the worker, whose memory and processor time say nothing then. */
  readonly elsewhere?: true;
  /** Differs from another in this alone, and is of no interest where that makes no difference. */
  readonly variant?: "client" | "lease" | "waiting" | "kind";
  /** Why it can not be measured here; undefined: it can. */
  obstacle?(): string | undefined;
  /**
   * How many of these counts it has sent as commands of their own, where its scripts call the same ones. What no script
   * can call is counted anyway.
   */
  sent?(counts: CommandCounts): number;
  /** Loads the packages first: a process has those of its own library alone. */
  open(settings: OpenSettings): Promise<Connection>;
}

export interface Claims {
  /** What it has more than one of; a plain lock is what each has. */
  readonly kinds: readonly Kind[];
  /** Waits for a lock that is held; else an attempt at it fails. */
  readonly waits: boolean;
  /** Renews what is held without a fixed lease. */
  readonly renews: boolean;
}

export type Kind = "plain" | "fair" | "fenced" | "read" | "write";

export interface OpenSettings {
  readonly port: number;
  /** Of one run, for names on a server that several runs share. */
  readonly run: string;
  /** How often a lock without a fixed lease is to be renewed, as nearly as the library can. */
  readonly renewEachMs: number;
  /** The built package: the folder of index.js, `dist/esm` in that of the package. */
  readonly dist: string;
  readonly holdfastOptions: HoldfastOptions;
}

/** One client of a library. Methods, so that each may have handles of its own. */
export interface Connection {
  /** Resolves with a handle as soon as the lock is held. Rejects at once when it is not free and the library does not wait. */
  acquire(name: string, lease: LeaseWish): Promise<unknown>;
  release(handle: unknown): Promise<unknown>;
  /** What the library says of a lock on the next line, without asking its server. Where it says something. */
  isHeld?(handle: unknown): boolean;
  /** The fencing token of a lock of the kind "fenced". */
  token?(handle: unknown): bigint;
  /** Where the library works in another process. Does the work of `doTasks` there. */
  doTasks?(plan: TaskPlan): Promise<TaskReport>;
  /** And when there an acquisition returned or a release was called, of which this is the result: `process.hrtime.bigint()`. */
  momentOf?(result: unknown): bigint;
}

export interface LeaseWish {
  /** Undefined: until it is released, renewed as the connection was told. */
  readonly ttlMs?: number;
  /** Default: "plain". */
  readonly kind?: Kind;
}

/** What the tasks of one process do, each in a loop: take a lock, release it. */
export interface TaskPlan {
  readonly tasks: number;
  readonly forMs: number;
  /** One lock for all, or one for each. */
  readonly locks: "one" | "each";
  /** Taken in turns, each task beginning at another one. */
  readonly kinds: readonly Kind[];
  readonly ttlMs: number;
  readonly holdMs: number;
}

export interface TaskReport {
  readonly tookMs: number;
  /** How often each task has had its lock. */
  readonly counts: readonly number[];
  /** How long each acquisition took, as `Histogram` counts; with those that had not ended. */
  readonly waits: readonly number[];
  /** Of a process that is not the worker's own. */
  readonly cpuUs?: number;
}

/** How often the server ran each command, those that scripts called included. */
export type CommandCounts = Readonly<Record<string, number>>;

/** A kind of measurement. */
export interface Scenario {
  /** What `--scenario` says. */
  readonly name: string;
  readonly title: string;
  /** What the table does not say by itself. */
  readonly about: string;
  readonly columns: readonly Column[];
  /** What of a library it shows to work. */
  readonly tries: "acquiring" | "waiting" | "fairness" | "renewing" | "losing" | "timers";
  /** Who takes part, of all that there are; or contestants of its own. */
  contestants(libraries: readonly Library[]): readonly Library[];
  /** One run, in the main process. */
  measure(stage: Stage, size: Size, library: Library): Promise<Metrics>;
  /** What its worker processes can be told to do. */
  readonly orders: Readonly<Record<string, OrderHandler>>;
}

export type OrderHandler = (connection: Connection, options: never, worker: WorkerSelf) => Promise<unknown>;

/** A worker process as the orders see it. */
export interface WorkerSelf {
  readonly port: number;
  /** What its client was opened with: a scenario may open further ones. */
  readonly settings: OpenSettings;
  /** Opens a further client of the library, with a connection of its own. */
  open(): Promise<Connection>;
  /** Tells the main process; resolves when that is on its way. */
  announce(event: string): Promise<void>;
}

export interface Size {
  readonly quick: boolean;
  /** How long a loop is measured. */
  readonly forMs: number;
}

export type Metrics = Readonly<Record<string, number | string>>;

export interface Column {
  readonly metric: string;
  readonly heading: string;
  /** Digits after the point. Default: 0. */
  readonly digits?: number;
}

/** The server and the worker processes of one run. */
export interface Stage {
  readonly port: number;
  /** Starts a process with a client of the library. */
  worker(settings?: Partial<OpenSettings>): Promise<Worker>;
  /** What the server did while the body ran. */
  measure<T>(body: () => Promise<T>): Promise<Measured<T>>;
}

export interface Measured<T> {
  readonly value: T;
  readonly tookMs: number;
  /** Commands that clients have sent, where the server counts them. */
  readonly commands?: number;
  readonly serverCpuUs?: number;
}

/** A worker process as the main process sees it. */
export interface Worker {
  readonly pid: number;
  order<T>(order: string, options?: object): Promise<Done<T>>;
  /** Resolves when the worker has announced it, from now on. */
  announced(event: string): Promise<void>;
  stop(): Promise<void>;
}

export interface Done<T> {
  readonly value: T;
  /** Of the worker process while it obeyed. */
  readonly cpuUs: number;
}
