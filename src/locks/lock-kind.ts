import type { Client } from "../client.js";
import type { Reentry } from "../options.js";
import type { Script } from "../protocol/define-script.js";
import type { AcquireAnswer, Acquisition, Release, ReleaseAnswer } from "../protocol/lock-scripts.js";
import type { Held } from "../threads/holding.js";

/** In what one kind of lock differs from another; the rest is the same for all. */
export interface LockKind {
  /** As events and errors call it. */
  readonly name: string;
  readonly acquire: Script<
    { readonly notAfterMs: number; readonly locks: readonly Acquisition[] },
    readonly AcquireAnswer[]
  >;
  readonly release: Script<
    { readonly notAfterMs: number; readonly locks: readonly Release[] },
    readonly ReleaseAnswer[]
  >;
  /** Where its waiters listen. */
  channel(key: string): string;
}

/** One lock of one client. */
export interface LockIdentity extends Held {
  readonly client: Client;
  readonly kind: LockKind;
  readonly reentry: Reentry;
}
