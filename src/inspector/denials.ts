/** A lock of which nothing is known, or that has no holders to be freed from. */
export class NotToBeFreed extends Error {}

/** The lock could not be looked at, so that nothing was done. */
export class NotLookedAt extends Error {}

/** More locks are freed than a person at a page would free. */
export class TooMany extends Error {}
