/** How long and in which way a command is sent for its caller. */
export interface Patience {
  /** Once true, the command is not sent again. */
  readonly cancelled?: boolean;
  /** Whether the command is never sent again, because the caller will send it in another way. Default: false. */
  readonly once?: boolean;
  /** Default: one command timeout. */
  readonly timeoutMs?: number | undefined;
  /** Whether a closing client does not wait for the answer. Default: false. */
  readonly aside?: boolean;
  /** Whether the command fails as soon as its keys are on different servers, because the caller can split it. */
  readonly divisible?: boolean;
  /** False for a command that takes something back: replicas need not have it. Default: true. */
  readonly replicated?: boolean;
  /** The lease that the command sets, in milliseconds: bounds the wait for replicas. Default: none. */
  readonly leaseMs?: number;
}
