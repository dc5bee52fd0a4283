/**
 * A question with many callers. A call made while a question is under way shares the next question, because the answer on its way may be
 * older than the event that caused the call.
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
