import type { Admitted } from "./access.js";
import { Allowance } from "./allowance.js";
import { TooMany } from "./denials.js";
import type { FeedEvent } from "./format.js";
import type { InspectorSettings } from "./inspector-options.js";
import type { Picture } from "./picture.js";

/** A lock that was freed by force, or permits that were given back by force. */
export interface Deed {
  readonly key: string;
  readonly name: string;
  /** The former holder, as text for people. */
  readonly holder: string;
  /** The stored holders, or the ids of the permits. */
  readonly holders: readonly string[];
  /** How many permits. Absent for a lock. */
  readonly permits?: number;
  /** The deed as text: `did` for the changes of the lock; `logged`, with the key of the lock, for the log. */
  readonly did: string;
  readonly logged: string;
}

/** The user behind a deed, and the reason that the user gave. */
export interface Why {
  readonly reason: string;
  readonly by: Admitted;
}

const FREES_OF_ONE = 10;
const FREES_IN_ALL = 60;

/** The forced frees of operators: limits their number, and reports each. */
export class Deeds {
  readonly #picture: Picture;
  readonly #allowance: Allowance;
  readonly #log: InspectorSettings["log"];
  readonly #tell: (event: FeedEvent) => void;

  /** @param tell is called with the event of each forced free */
  constructor({ clock, log }: InspectorSettings, picture: Picture, tell: (event: FeedEvent) => void) {
    this.#picture = picture;
    this.#allowance = new Allowance(clock, FREES_OF_ONE, FREES_IN_ALL);
    this.#log = log;
    this.#tell = tell;
  }

  /** Counts a deed. @throws TooMany */
  allow({ actor }: Admitted): void {
    if (!this.#allowance.take(actor)) throw new TooMany(`more than ${FREES_OF_ONE} frees in a minute`);
  }

  /** Reports to the page, the log and the changes of the lock. */
  done({ key, name, holder, holders, permits, did, logged }: Deed, { reason, by }: Why): void {
    const actor = by.actor ?? "";
    const whom = actor === "" ? "" : ` by ${actor}`;
    this.#picture.changes.tell(key, name, {
      atMs: this.#picture.nowMs,
      type: "forced",
      text: `${did}${whom}: ${reason || "no reason given"}; held by ${holder}`,
    });
    const stored = permits === undefined ? "holders" : "permits";
    this.#write(
      { key, name },
      `${logged}: actor ${JSON.stringify(actor)}, reason ${JSON.stringify(reason)}, ${stored} ${JSON.stringify(holders)}`,
    );
    const event = this.#picture.forced({
      ...{ key, holder },
      ...(actor !== "" && { actor }),
      ...(reason !== "" && { reason }),
      ...(permits !== undefined && { permits }),
    });
    this.#tell(event);
  }

  /** If the program's function fails to log a deed, the deed is not undone. The page then reports the failure. */
  #write({ key, name }: Pick<Deed, "key" | "name">, line: string): void {
    const failed = (error: unknown) => {
      const text = `the log line about it was not written: ${String(error)}`;
      this.#picture.changes.tell(key, name, { atMs: this.#picture.nowMs, type: "forced", text });
    };
    try {
      // An `async` function returns a promise, whose rejection would end the process.
      Promise.resolve(this.#log(line)).catch(failed);
    } catch (error) {
      failed(error);
    }
  }
}
