/** What a stay wants of its record. */
export interface WantedRecord {
  /** The holds that go on, numbered as Redis counts them. A hold that was cancelled, came too late or was lost is none of them. */
  readonly holds: readonly WantedHold[];
  /** How many holds are being released by commands of their own. */
  readonly releases: number;
  /** Whether something is asked for under the same field afterwards: by this stay, or by the next one under a chosen id. */
  readonly goesOn: boolean;
}

export interface WantedHold {
  /** 1 for the outermost. */
  readonly slot: number;
  /**
   * Whether Redis may lack its own lease: a hold that was given by another client begins without it, and a lease that was set anew may have
   * been shortened since by a copy of an earlier command.
   */
  readonly lacksLease: boolean;
}

/** The command that brings Redis nearer to what is wanted. */
export type Step =
  /** Redis has what is wanted, as far as this can be known. */
  | { readonly does: "nothing" }
  /** The latest holder of a chain is to be written in the place of whichever holder Redis has. */
  | { readonly does: "name" }
  /** The holders of a chain have left: Redis has one of their fields. */
  | { readonly does: "free-names" }
  /** The count is lowered to `keptCount`, or written once more, with the TTL that the holds need. */
  | ({ readonly does: "release" } & Lowered);

/** How far a release lowers the count. */
export interface Lowered {
  /** The count that Redis may have at most. */
  readonly heldCount: number;
  readonly keptCount: number;
  /** Whether a copy that arrives late would do harm, so that the command has a deadline. */
  readonly limited: boolean;
}
