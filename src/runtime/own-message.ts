/** Tells which message on a channel comes from a release of this client: that one is ignored. */
export class OwnMessage {
  /** Whether the next message is expected to be that of our own release. */
  #isExpected = false;
  /** Whether a message was taken for it since. */
  #wasIgnored = false;
  /** Whether Redis counts this client among the receivers of the release. */
  #isCounted = false;

  /**
   * A release is about to be sent.
   * @param hears whether the line would hear its message
   * @param isSubscribed whether the client is subscribed to the channel, even if no line listens any more
   */
  expect(hears: boolean, isSubscribed: boolean): void {
    this.#isExpected = hears;
    this.#isCounted = isSubscribed;
  }

  /** @returns whether the message that came is that of our own release */
  ignores(): boolean {
    if (!this.#isExpected) return false;
    this.#isExpected = false;
    this.#wasIgnored = true;
    return true;
  }

  /** The release was answered. @param heard how many clients received it @returns how many of them are this client */
  freed(heard: number | undefined): number {
    this.#wasIgnored = false;
    if (heard === 0) this.#isExpected = false;
    return this.#isCounted ? 1 : 0;
  }

  /** Messages may have been missed, including that one. */
  lost(): void {
    this.#isExpected = false;
    if (!this.#wasIgnored) this.#isCounted = false;
  }

  /** No message of ours is on its way. @returns whether another message was taken for it */
  end(): boolean {
    const wasIgnored = this.#wasIgnored;
    this.#isExpected = false;
    this.#wasIgnored = false;
    return wasIgnored;
  }
}
