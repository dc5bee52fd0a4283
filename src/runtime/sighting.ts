/** The holder of a lock and its remaining lease, as Redis has answered. */
export interface SeenHolder {
  readonly holder: string;
  /** Milliseconds left of the holder's lease; -1 without a TTL. */
  readonly ttlMs: number;
  /** Whether the holder belongs to this client. Default: true. */
  readonly own?: boolean;
}

/** A seen holder, with the time. */
export interface Sighting extends Omit<SeenHolder, "own"> {
  /** On the monotonic clock. */
  readonly seenMs: number;
}
