import type { LeaseLostError, LossReason } from "../../../src/errors.js";
import type { Chain, Holder } from "../../../src/threads/chain.js";
import { ServerRecord } from "../../../src/threads/server-record.js";
import { makeTerms } from "../../../src/threads/terms.js";
import type { WantedRecord } from "../../../src/threads/wanted.js";

const TERMS = makeTerms({ leaseMs: 30_000, renewed: true, maxHoldMs: undefined, clockSkewMs: 0 });

/** A hold of the model: the acquisition that it was asked for by. */
export interface ModelHold {
  readonly ask: number;
  state: "asked" | "held" | "released" | "lost";
}

/** A stay of the model: its holds, and what the record of it says. */
export class ModelStay implements Holder {
  readonly key = "lock";
  readonly field: string;
  readonly isReused: boolean;
  inRedis = new ServerRecord();
  chain: Chain | undefined;
  holds: ModelHold[] = [];
  /** The hold that is asked for. */
  asked: ModelHold | undefined;
  /** Releases of holds, that wait until nothing is under way. */
  works: (() => void)[] = [];
  /** Whether a release without a deadline was sent, after which nothing may be asked for under the field. */
  isFinal = false;
  /** Whether the field was removed from outside since a hold was entered last. */
  wasRemoved = false;
  readonly terms = TERMS;
  readonly loss: LeaseLostError | undefined = undefined;

  constructor(field: string, isReused: boolean) {
    this.field = field;
    this.isReused = isReused;
  }

  get stay(): this {
    return this;
  }

  get state(): "held" | "released" {
    return this.holds.length > 0 ? "held" : "released";
  }

  get wanted(): WantedRecord {
    const holds = this.holds.map((_, at) => ({ slot: at + 1, lacksLease: false }));
    const asks = this.asked !== undefined;
    return { holds, releases: this.works.length, goesOn: asks || this.isReused };
  }

  renewing(): void {
    // Nothing is renewed in the model.
  }

  named(): void {
    this.wasRemoved = false;
  }

  loseAll(_reason: LossReason): void {
    for (const hold of this.holds) hold.state = "lost";
    this.holds = [];
  }
}
