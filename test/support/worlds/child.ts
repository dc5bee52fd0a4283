import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { CounterWorkerSettings } from "../programs/counter-worker.js";
import type { FairWaiterSettings } from "../programs/fair-waiter.js";
import type { InspectorServerSettings } from "../programs/inspector-server.js";
import type { JointWorkerSettings } from "../programs/joint-worker.js";
import type { LockTakerSettings } from "../programs/lock-taker.js";
import type { LockVisitorSettings } from "../programs/lock-visitor.js";
import type { LoneWaiterSettings } from "../programs/lone-waiter.js";
import type { PathCostsSettings } from "../programs/path-costs.js";
import type { PermitHolderSettings } from "../programs/permit-holder.js";
import type { PermitUserSettings } from "../programs/permit-user.js";
import type { RecipeUserSettings } from "../programs/recipe-user.js";
import type { RedlockUserSettings } from "../programs/redlock-user.js";
import type { WarnedUserSettings } from "../programs/warned-user.js";
import { guard, killNow } from "../run/guard.js";
import { whenStopped } from "../servers/process-state.js";

/** The programs of `programs/`, and what each is started with. */
export interface ProgramSettings {
  "lock-taker": LockTakerSettings;
  "counter-worker": CounterWorkerSettings;
  "fair-waiter": FairWaiterSettings;
  "inspector-server": InspectorServerSettings;
  "joint-worker": JointWorkerSettings;
  "lock-visitor": LockVisitorSettings;
  "lone-waiter": LoneWaiterSettings;
  "path-costs": PathCostsSettings;
  "permit-holder": PermitHolderSettings;
  "permit-user": PermitUserSettings;
  "recipe-user": RecipeUserSettings;
  "redlock-user": RedlockUserSettings;
  "warned-user": WarnedUserSettings;
  "server-starter": object;
}

/** A line of a child: what happened, and the details. */
export interface ChildEvent {
  readonly event: string;
  readonly [detail: string]: unknown;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const programs = new URL("../../../build/test/support/programs/", import.meta.url);

/**
 * Starts a program of `programs/` as a process of its own, which says "ready" when it is.
 * @param folder where it is, and where it finds the package. Default: where it was built, with the package of this tree
 */
export function spawnProgram<Name extends keyof ProgramSettings>(
  name: Name,
  settings: ProgramSettings[Name],
  folder: URL = programs,
): Child {
  const file = fileURLToPath(new URL(`${name}.js`, folder));
  if (!existsSync(file)) throw new Error(`${file} is missing: run \`node scripts/build.mjs\``);
  return new Child(process.execPath, [file, JSON.stringify(settings)]);
}

interface Waiting {
  readonly wanted: (event: ChildEvent) => boolean;
  resolve(event: ChildEvent): void;
  reject(error: Error): void;
}

/** A process that tells events and obeys orders. It never outlives this one. */
export class Child {
  /** All that it has told so far. */
  readonly events: ChildEvent[] = [];
  /** Resolves when it has ended, however that came about. */
  readonly exited: Promise<Exit>;
  readonly pid: number;
  readonly #process: ChildProcess;
  readonly #waiting = new Set<Waiting>();
  /** Events of a kind that somebody has been given already. */
  readonly #told = new Set<ChildEvent>();
  #orders = 0;
  #errors = "";
  #ended = false;

  constructor(command: string, args: readonly string[]) {
    const child = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"] });
    if (child.pid === undefined) throw new Error(`${command} could not be started`);
    this.#process = child;
    this.pid = child.pid;
    const release = guard(child.pid);
    createInterface({ input: child.stdout }).on("line", (line) => this.#hear(JSON.parse(line) as ChildEvent));
    child.stderr.on("data", (text) => {
      this.#errors += text;
    });
    // An order to a child that has just ended; whoever waits for the answer is told below.
    child.stdin.on("error", () => undefined);
    this.exited = new Promise((resolve) => {
      child.once("close", (code, signal) => {
        release();
        this.#ended = true;
        const error = new Error(`the child ended (${signal ?? code})${this.#errors && `: ${this.#errors}`}`);
        for (const { reject } of this.#waiting) reject(error);
        this.#waiting.clear();
        resolve({ code, signal });
      });
    });
  }

  /** What it wrote to stderr: warnings, and why it died. */
  get errors(): string {
    return this.#errors;
  }

  /** Resolves with the next event of that name that nobody was given yet. Rejects when the child ends before. */
  next(name: string): Promise<ChildEvent> {
    return this.#find(({ event, id }) => event === name && id === undefined);
  }

  /** Gives an order; resolves with the answer, which may be `{ event: "failed", error }`. */
  ask(order: string, options: object = {}): Promise<ChildEvent> {
    this.#orders += 1;
    const id = this.#orders;
    this.#process.stdin?.write(`${JSON.stringify({ id, order, options })}\n`);
    return this.#find((event) => event["id"] === id);
  }

  /** Stops it where it stands (SIGSTOP). Resolves when it does. */
  async freeze(): Promise<void> {
    process.kill(this.pid, "SIGSTOP");
    await whenStopped(this.pid);
  }

  /** Lets it go on (SIGCONT). */
  thaw(): void {
    process.kill(this.pid, "SIGCONT");
  }

  /** Kills it (SIGKILL), stopped or not; harmless when it has ended. Resolves when it is gone. */
  async stop(): Promise<Exit> {
    if (!this.#ended) killNow(this.pid);
    return this.exited;
  }

  #hear(event: ChildEvent): void {
    this.events.push(event);
    for (const waiting of this.#waiting) {
      if (!waiting.wanted(event)) continue;
      this.#waiting.delete(waiting);
      this.#told.add(event);
      waiting.resolve(event);
      return;
    }
  }

  #find(wanted: (event: ChildEvent) => boolean): Promise<ChildEvent> {
    const known = this.events.find((event) => !this.#told.has(event) && wanted(event));
    if (known !== undefined) {
      this.#told.add(known);
      return Promise.resolve(known);
    }
    if (this.#ended) return Promise.reject(new Error(`the child has ended: ${this.#errors}`));
    return new Promise((resolve, reject) => this.#waiting.add({ wanted, resolve, reject }));
  }
}
