/** The state of a stay that Redis should have. */
export interface WantedRecord {
  /** The live holds, numbered as Redis counts them. Cancelled, late and lost holds are not among them. */
  readonly holds: readonly WantedHold[];
  /** How many holds are being released by their own commands. */
  readonly releases: number;
  /** Whether a call will ask for the lock again under the same field: in this stay, or in the next stay under a chosen id. */
  readonly goesOn: boolean;
}

export interface WantedHold {
  /** The number of the hold: 1 for the outermost. */
  readonly slot: number;
  /**
   * Whether Redis may not have the hold's own lease: a hold that another client granted begins without its own lease, and a late copy
   * of an earlier command may have shortened a lease.
   */
  readonly lacksLease: boolean;
}

/** The command that brings Redis closer to the wanted state. */
export type Step =
  /** Redis has the wanted state, as far as this can be known. */
  | { readonly does: "nothing" }
  /** The field of a chain's latest holder must replace the field that Redis has. */
  | { readonly does: "name" }
  /** The holders of a chain have left. Redis has the field of one of these holders; the lock must be freed from all of them. */
  | { readonly does: "free-names" }
  /** The count is lowered to `keptCount`, or written again, with the TTL that the holds need. */
  | ({ readonly does: "release" } & Lowered);

/** How far a release lowers the count. */
export interface Lowered {
  /** The highest count that Redis may have. */
  readonly heldCount: number;
  readonly keptCount: number;
  /** Whether a late copy of the command would do harm, so that the command has a deadline. */
  readonly limited: boolean;
}
