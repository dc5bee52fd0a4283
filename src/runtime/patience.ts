/** For how long, and how, a command is sent for its caller. */
export interface Patience {
  /** Once true, the command is not sent again. */
  readonly cancelled?: boolean;
  /** Whether it is not sent again in any case, since the caller will send it in another way. Default: false. */
  readonly once?: boolean;
  /** Default: one command timeout. */
  readonly timeoutMs?: number | undefined;
  /** Whether a client that closes does not wait for its answer. Default: false. */
  readonly aside?: boolean;
  /** Whether the command is refused as soon as its keys are on different servers, as the caller can send it in parts. */
  readonly divisible?: boolean;
  /** False for a command that takes something back: replicas need not have it. Default: true. */
  readonly replicated?: boolean;
  /** The lease that it brings, in milliseconds: replicas are waited for during a part of it. Default: none. */
  readonly leaseMs?: number;
}
