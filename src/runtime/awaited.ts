/** What is waited for: a lock, permits or a latch. */
export interface Awaited {
  /** The id of its line in `WaitLines`. */
  readonly id: string;
  /** The channel that releases are published on. */
  readonly channel: string;
  /** Which messages make it worth asking. Default: those of locks. */
  readonly tells?: (message: string) => boolean;
  /** Whether clients wait for it in a queue in Redis, where each is told on a channel of its own. Default: false. */
  readonly queues?: boolean;
  /** Of permits: the id by which their releases know that they are waited for. A line joins their queue once others are known to wait. */
  readonly releasedAs?: string;
}
