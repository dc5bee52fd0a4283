/** What a stay wants of its record. */
export interface WantedRecord {
  /** The live holds, numbered as Redis counts them. Cancelled, late and lost holds are not among them. */
  readonly holds: readonly WantedHold[];
  /** How many holds are being released by their own commands. */
  readonly releases: number;
  /** Whether something is asked for under the same field afterwards: by this stay, or by the next one under a chosen id. */
  readonly goesOn: boolean;
}

export interface WantedHold {
  /** 1 for the outermost. */
  readonly slot: number;
  /**
   * Whether Redis may lack its own lease: a hold that another client granted begins without it, and a copy of an earlier command may have
   * shortened a lease after it was set.
   */
  readonly lacksLease: boolean;
}

/** The command that brings Redis closer to the wanted state. */
export type Step =
  /** Redis has what is wanted, as far as this can be known. */
  | { readonly does: "nothing" }
  /** The latest holder of a chain must be written in place of the holder that Redis has. */
  | { readonly does: "name" }
  /** The holders of a chain have left: Redis has one of their fields. */
  | { readonly does: "free-names" }
  /** The count is lowered to `keptCount`, or written again, with the TTL that the holds need. */
  | ({ readonly does: "release" } & Lowered);

/** How far a release lowers the count. */
export interface Lowered {
  /** The highest count that Redis may have. */
  readonly heldCount: number;
  readonly keptCount: number;
  /** Whether a late copy would do harm, so that the command has a deadline. */
  readonly limited: boolean;
}
