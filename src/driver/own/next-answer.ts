/**
 * A question that many ask. Those who come while one is under way share the next: what they want to know of may have happened
 * after the answer that is on its way.
 */
export class NextAnswer<Answer> {
  readonly #ask: () => Promise<Answer>;
  #last: Promise<unknown> = Promise.resolve();
  #next: Promise<Answer> | undefined;

  constructor(ask: () => Promise<Answer>) {
    this.#ask = ask;
  }

  get(): Promise<Answer> {
    this.#next ??= this.#last.then(() => {
      this.#next = undefined;
      const answer = this.#ask();
      this.#last = answer.catch(() => undefined);
      return answer;
    });
    return this.#next;
  }
}
