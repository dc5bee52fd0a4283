import { earlier, type Instant } from "../runtime/instant.js";

/** A lease that a command is setting; the outcome of the command is not known yet. */
export interface Doubt {
  /** When the trust in this lease ends, if the command has run. */
  readonly end: Instant;
}

/** The leases that commands are setting. Until the outcomes are known, the shortest lease is trusted. */
export class Doubts {
  /** The lease that an extension is setting, in milliseconds: Redis must keep the key at least that long. */
  extensionMs: number | undefined;
  #open: { end: Instant }[] = [];

  get isEmpty(): boolean {
    return this.#open.length === 0;
  }

  add(end: Instant): Doubt {
    const doubt = { end };
    this.#open.push(doubt);
    return doubt;
  }

  remove(doubt: Doubt): void {
    this.#open = this.#open.filter((other) => other !== doubt);
  }

  /** No lease in doubt may be trusted beyond `end`. */
  cap(end: Instant): void {
    for (const doubt of this.#open) doubt.end = earlier(doubt.end, end);
  }

  /** The earliest of `end` and the ends of all leases in doubt. */
  earliest(end: Instant): Instant {
    return this.#open.reduce((first, doubt) => earlier(first, doubt.end), end);
  }
}
