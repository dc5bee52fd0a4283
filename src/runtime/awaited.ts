/** A thing that calls wait for: a lock, permits or a latch. */
export interface Awaited {
  /** The id of its line in `WaitLines`. */
  readonly id: string;
  /** The channel that releases are published on. */
  readonly channel: string;
  /** Whether a message on the channel is a reason to ask Redis. Default: the messages of locks. */
  readonly tells?: (message: string) => boolean;
  /** Whether clients wait for it in a queue in Redis, which notifies each client on a channel of its own. Default: false. */
  readonly queues?: boolean;
  /**
   * Only for permits: a release of this client looks up by this id whether clients wait in the queue. Waiting calls get a place in that
   * queue only once other clients are known to wait.
   */
  readonly releasedAs?: string;
}
