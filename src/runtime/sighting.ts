/** The holder of a lock and the rest of its lease, as Redis has answered. */
export interface SeenHolder {
  readonly holder: string;
  /** Milliseconds its lease has left; -1 without a TTL. */
  readonly ttlMs: number;
  /** Whether the holder is of this client. Default: true. */
  readonly own?: boolean;
}

/** A holder that was seen, and when. */
export interface Sighting extends Omit<SeenHolder, "own"> {
  /** On the monotonic clock. */
  readonly seenMs: number;
}
