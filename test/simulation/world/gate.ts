import type { VirtualTime } from "./virtual-time.js";

/**
 * What everything that reaches a process or a server passes. While it is shut, all waits in order, as in the buffers of a
 * stopped process. Opened again, one thing after the other goes in, those whose time has come first.
 */
export class Gate {
  readonly #time: VirtualTime;
  /** How many have shut it and not opened it yet. */
  #shut = 0;
  #isGone = false;
  #empties = false;
  readonly #due: (() => void)[] = [];
  readonly #waiting: (() => void)[] = [];
  readonly #tellGone: (() => void)[] = [];

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  /** Whether nothing passes at present. */
  get isShut(): boolean {
    return this.#shut > 0;
  }

  /** Whether nothing will ever pass again. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** Lets something in: at once, or once the gate is open again. */
  pass(run: () => void): void {
    this.#enter(run, this.#waiting);
  }

  /** As {@link pass}, for a timer: an event loop looks at its timers before it looks at its connections. */
  passDue(run: () => void): void {
    this.#enter(run, this.#due);
  }

  shut(): void {
    this.#shut += 1;
  }

  /** To be called once for each {@link shut}: it is open when the last one has gone. */
  open(): void {
    this.#shut -= 1;
    this.#empty();
  }

  /** Calls back once nothing passes any more. */
  whenGone(tell: () => void): void {
    this.#tellGone.push(tell);
  }

  /** Nothing passes any more. */
  close(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    for (const tell of this.#tellGone) tell();
    this.#due.length = 0;
    this.#waiting.length = 0;
  }

  #enter(run: () => void, queue: (() => void)[]): void {
    if (this.#isGone) return;
    const isFree = !this.isShut && !this.#empties && this.#due.length === 0 && this.#waiting.length === 0;
    if (isFree) run();
    else queue.push(run);
  }

  #empty(): void {
    if (this.#empties || this.isShut || this.#isGone) return;
    const next = this.#due.shift() ?? this.#waiting.shift();
    if (next === undefined) return;
    this.#empties = true;
    this.#time.after(0, () => {
      this.#empties = false;
      if (this.isShut) this.#waiting.unshift(next);
      else if (!this.#isGone) {
        next();
        this.#empty();
      }
    });
  }
}
