/**
 * One way of Redisson to call a server. In keys and arguments `<name>` and the like stand for what differs from call to
 * call; where several of one sort follow each other, such as ids of permits, one stands for all.
 */
export interface RecordedCall {
  /** The script, byte for byte; or else the command that is sent without one. */
  readonly lua?: string;
  readonly command?: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

/** By the name that the recording gives them. */
export type RecordedCalls = Readonly<Record<string, RecordedCall>>;
