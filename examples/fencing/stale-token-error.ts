/** A later holder of the lock has been at the store. What the earlier one has read is old: it has to give up. */
export class StaleTokenError extends Error {
  override readonly name = "StaleTokenError";

  constructor(
    readonly resource: string,
    readonly token: bigint,
  ) {
    super(`token ${token} is too old for "${resource}": a later holder of the lock was there first`);
  }
}
