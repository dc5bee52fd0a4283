import type { Checker } from "./checker.js";
import type { DataLosses } from "./data-losses.js";

/** One call that is to run a fire. */
export interface Attempt {
  /** Its body begins. */
  begins(): void;
  /** It has ended: with an error, where it is not told as what. */
  ends(as?: "ran" | "busy" | "done"): void;
}

interface Fire {
  readonly name: string;
  /** The calls in which its body has begun, and when each call did: what the server has written since then it may have lost. */
  readonly begun: { readonly by: string; readonly startUs: number }[];
  /** Those that said in the end what has become of the fire, as their processes live. */
  answered: number;
  attempts: number;
  isTold: boolean;
}

/** Sees to it that each fire of `runOnce` is run once, but for those that a call took with it which had no answer. */
export class Fires {
  readonly #fires = new Map<string, Fire>();
  readonly #nowUs: () => number;
  readonly #checker: Checker;
  readonly #losses: DataLosses;

  constructor(nowUs: () => number, checker: Checker, losses: DataLosses) {
    this.#nowUs = nowUs;
    this.#checker = checker;
    this.#losses = losses;
  }

  tries(name: string, by: string): Attempt {
    const fire = this.#fires.get(name) ?? { name, begun: [], answered: 0, attempts: 0, isTold: false };
    this.#fires.set(name, fire);
    fire.attempts += 1;
    const startUs = this.#nowUs();
    return {
      begins: () => this.#begins(fire, { by, startUs }),
      ends: (as) => {
        if (as === undefined) return;
        fire.answered += 1;
        if (as === "done") fire.isTold = true;
      },
    };
  }

  #begins(fire: Fire, call: Fire["begun"][number]): void {
    const before = fire.begun.find(({ startUs }) => !this.#losses.since(startUs));
    fire.begun.push(call);
    if (before === undefined) return;
    const text = `fire ${fire.name} is run by ${call.by}, and was run by ${before.by}`;
    this.#checker.fail("exclusion", text);
  }

  /** All calls are over. */
  end(): void {
    for (const { name, begun, answered, attempts, isTold } of this.#fires.values()) {
      if (begun.length > 0 || !isTold || answered < attempts) continue;
      this.#checker.fail("conservation", `fire ${name} was run by nobody, and all calls have an answer`);
    }
  }
}
