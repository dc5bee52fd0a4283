/**
 * A question with many callers. A call that comes while a question is under way shares the next question: the event behind the call may be
 * newer than the answer that is on its way.
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
