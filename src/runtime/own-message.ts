/** Which message on a channel is that of a release of this very client: it is no news. */
export class OwnMessage {
  /** Whether the next message is the one of our own release. */
  #isExpected: boolean;
  /** Whether a message was taken for it since. */
  #wasIgnored = false;

  /** A release is about to be sent. @param hears whether its message would be heard */
  constructor(hears: boolean) {
    this.#isExpected = hears;
  }

  /** One more release is about to be sent. */
  expect(hears: boolean): void {
    this.#isExpected = hears;
  }

  /** @returns whether the message that came is the one of our own release */
  ignores(): boolean {
    if (!this.#isExpected) return false;
    this.#isExpected = false;
    this.#wasIgnored = true;
    return true;
  }

  /** The release was answered. @param heard how many heard of it @returns how many of them are this client */
  freed(heard: number | undefined): number {
    const own = this.#isExpected || this.#wasIgnored ? 1 : 0;
    this.#wasIgnored = false;
    if (heard === 0) this.#isExpected = false;
    return own;
  }

  /** Messages may have been missed, and so that one. */
  lost(): void {
    this.#isExpected = false;
  }

  /** No message of ours is on its way. @returns whether one was taken for it */
  end(): boolean {
    const wasIgnored = this.#wasIgnored;
    this.#isExpected = false;
    this.#wasIgnored = false;
    return wasIgnored;
  }
}
