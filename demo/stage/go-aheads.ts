/** Words to go on, each for one who waits for it; one that comes early is kept. */
export class GoAheads {
  #kept = 0;
  readonly #waiting: (() => void)[] = [];

  give(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#kept += 1;
    else next();
  }

  wait(): Promise<void> {
    if (this.#kept > 0) {
      this.#kept -= 1;
      return Promise.resolve();
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
