import { LeaseLostError } from "../../../src/errors.js";
import type { Lease } from "../../../src/lease.js";
import type { SimProcess } from "../world/sim-process.js";
import type { VirtualTime } from "../world/virtual-time.js";
import type { Checker } from "./checker.js";
import type { Losses } from "./losses.js";
import type { Trouble } from "./trouble.js";

/** Timers of a free event loop are that late at most, and one alarm may be set anew once. */
const LATE_US = 12_000;
const STANDSTILLS = ["stop", "suspend", "stall"];

interface Heard {
  readonly lease: Lease;
  readonly label: string;
  readonly process: SimProcess;
  /** When it was first seen to be believed no more. */
  overUs?: number;
  hasAborted: boolean;
}

/** Listens to the signals of leases: each aborts as soon as its lease is lost. */
export class Signals {
  readonly #time: VirtualTime;
  readonly #checker: Checker;
  readonly #trouble: Trouble;
  readonly #losses: Losses;
  readonly #heard = new Set<Heard>();

  constructor(time: VirtualTime, checker: Checker, trouble: Trouble, losses: Losses) {
    this.#time = time;
    this.#checker = checker;
    this.#trouble = trouble;
    this.#losses = losses;
  }

  listen(lease: Lease, label: string, process: SimProcess): void {
    const heard: Heard = { lease, label, process, hasAborted: lease.signal.aborted };
    lease.signal.addEventListener("abort", () => {
      heard.hasAborted = true;
      this.#heard.delete(heard);
      const { reason: loss } = lease.signal;
      if (!(loss instanceof LeaseLostError)) return;
      this.#losses.told({ ...loss, name: loss.lockName });
      this.#losses.toldBy(lease, loss);
    });
    if (!heard.hasAborted) this.#heard.add(heard);
  }

  /** Its owner gives it back: from now on it need not abort. */
  left(lease: object): void {
    for (const heard of this.#heard) if (heard.lease === lease) this.#heard.delete(heard);
  }

  /** Looks at all leases that are listened to. */
  look(): void {
    const { nowUs } = this.#time;
    for (const heard of this.#heard) {
      const { process, lease, label } = heard;
      if (process.isDead) this.#heard.delete(heard);
      else if (this.#checker.believes(lease)) delete heard.overUs;
      else {
        heard.overUs ??= nowUs;
        if (nowUs - heard.overUs <= LATE_US || process.gate.isShut) continue;
        if (this.#trouble.has(process.name, heard.overUs - LATE_US, STANDSTILLS)) continue;
        // Timers stand still on a machine that sleeps, and know nothing of a clock that is set.
        if (this.#trouble.has(process.name, 0, ["clock step", "suspend"])) continue;
        this.#heard.delete(heard);
        const ms = (nowUs - heard.overUs) / 1_000;
        this.#checker.fail(
          "truth",
          `the signal of ${label} has not aborted ${ms} ms after its lease was over`,
        );
      }
    }
  }
}
