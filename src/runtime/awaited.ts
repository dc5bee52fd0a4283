/** A thing that calls wait for: a lock, permits or a latch. */
export interface Awaited {
  /** The id of its line in `WaitLines`. */
  readonly id: string;
  /** The channel that releases are published on. */
  readonly channel: string;
  /** Whether a message makes it worth asking. Default: the messages of locks. */
  readonly tells?: (message: string) => boolean;
  /** Whether clients wait for it in a queue in Redis, where each is notified on its own channel. Default: false. */
  readonly queues?: boolean;
  /**
   * Only for permits: the id by which releases of this client look up that clients wait. A line joins their queue once others are known to
   * wait.
   */
  readonly releasedAs?: string;
}
