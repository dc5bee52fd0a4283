/** A lock that was never seen, or that has no holders to free it from. */
export class NotToBeFreed extends Error {}

/** The lock could not be read, so nothing was done. */
export class NotLookedAt extends Error {}

/** More locks were freed in a minute than a person would free by hand. */
export class TooMany extends Error {}
