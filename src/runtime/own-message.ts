/** Finds out which message on a channel comes from a release of this client. This client's waiting calls ignore that message. */
export class OwnMessage {
  /** Whether the next message should be the one of our own release. */
  #isExpected = false;
  /** Whether a message was ignored because it was taken for the one of our own release. */
  #wasIgnored = false;
  /** Whether Redis counts this client among the receivers of the release. */
  #isCounted = false;

  /**
   * A release is about to be sent.
   * @param hears whether the release's message would reach the waiting calls
   * @param isSubscribed whether the client is subscribed to the channel, even if no line listens any more
   */
  expect(hears: boolean, isSubscribed: boolean): void {
    this.#isExpected = hears;
    this.#isCounted = isSubscribed;
  }

  /** @returns whether this message counts as the one of our own release */
  ignores(): boolean {
    if (!this.#isExpected) return false;
    this.#isExpected = false;
    this.#wasIgnored = true;
    return true;
  }

  /** The release was answered. @param heard how many clients received its message @returns how many of them are this client */
  freed(heard: number | undefined): number {
    this.#wasIgnored = false;
    if (heard === 0) this.#isExpected = false;
    return this.#isCounted ? 1 : 0;
  }

  /** Messages may have been missed, including the one of our own release. */
  lost(): void {
    this.#isExpected = false;
    if (!this.#wasIgnored) this.#isCounted = false;
  }

  /** No message of our own release is on its way. @returns whether another message was ignored in its place */
  end(): boolean {
    const wasIgnored = this.#wasIgnored;
    this.#isExpected = false;
    this.#wasIgnored = false;
    return wasIgnored;
  }
}
