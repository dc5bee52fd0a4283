import type { Around, AroundHold } from "../../../src/client-options.js";
import type { Lease } from "../../../src/lease.js";
import type { Checker } from "../checker/checker.js";
import { oneIn } from "../draw.js";
import type { Caller } from "./caller.js";
import type { Door } from "./lock-names.js";

/** Sees to it that `around` runs each body of a lock once, for the hold that the body has. */
export class Bodies {
  readonly #process: string;
  readonly #checker: Checker;
  #opened: AroundHold | undefined;
  /** The locks of jobs that calls are to run, each as often as calls do: their bodies ask Redis before they run the job's. */
  readonly jobs: string[] = [];

  constructor(process: string, checker: Checker) {
    this.#process = process;
    this.#checker = checker;
  }

  readonly around: Around = (hold, body) => {
    if (hold.kind.includes("semaphore")) return body();
    this.#opened = hold;
    const result = body();
    if (this.#opened !== undefined && !this.jobs.includes(hold.name))
      this.#fail(`was asked to run a body of "${hold.name}" that has not begun`);
    this.#opened = undefined;
    return result;
  };

  begins({ name, holder }: Lease): void {
    const opened = this.#opened;
    this.#opened = undefined;
    if (opened?.name === name && opened.holder === holder) return;
    this.#fail(`was asked to run ${opened?.holder ?? "nothing"}, and the body of ${holder} has begun`);
  }

  #fail(what: string): void {
    this.#checker.fail("truth", `around in ${this.#process} ${what}`);
  }
}

/** A body has begun. */
export function begins(caller: Caller, door: Door, lease: Lease): void {
  caller.member.bodies?.begins(lease);
  isHere(caller, door, lease);
}

/** In the body of a lease each of its locks is found by its name, until the client is closed. To look is a step: it may find a loss. */
export function isHere({ member, scene, name, beats }: Caller, { members }: Door, lease: Lease): void {
  if (member.isClosing || !oneIn(beats, 4)) return;
  for (const lock of members) {
    const found = member.holdfast.leaseHere(lock);
    if (found === lease || lease.state === "released") continue;
    scene.checker.fail("truth", `${name}: leaseHere("${lock}") is ${found?.holder}, not ${lease.holder}`);
  }
}
