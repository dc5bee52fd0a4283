import { redisServer } from "./redis-server.mjs";

/** @import { Library } from "./contracts.js" */

/**
 * For work in which nobody waits.
 *
 * @param {readonly Library[]} libraries
 */
export function uncontended(libraries) {
  return libraries.filter(({ variant }) => variant !== "waiting" && variant !== "kind");
}

/**
 * For locks that are waited for. What the clients can do by themselves is no such lock.
 *
 * @param {readonly Library[]} libraries
 */
export function waiting(libraries) {
  return libraries.filter(
    ({ role, claims, variant }) =>
      claims.waits && role !== "raw" && variant !== "lease" && variant !== "kind",
  );
}

/**
 * The same, where a worker process itself is measured, or stopped.
 *
 * @param {readonly Library[]} libraries
 */
export function waitingHere(libraries) {
  return waiting(libraries).filter(({ elsewhere }) => !elsewhere);
}

/**
 * Those that are waited for, for what does not depend on the Redis client, nor on how one waits.
 *
 * @param {readonly Library[]} libraries
 */
export function waitingWithoutVariants(libraries) {
  return waiting(libraries).filter(({ variant }) => variant === undefined);
}

/**
 * Libraries that wait for locks of Redis, each once: for fleets of clients, each with a connection of its own.
 *
 * @param {readonly Library[]} libraries
 */
export function fleets(libraries) {
  return waitingWithoutVariants(libraries).filter(
    ({ elsewhere, server }) => !elsewhere && server === redisServer,
  );
}

/**
 * The same, and kinds of locks other than the plain one beside it.
 *
 * @param {readonly Library[]} libraries
 */
export function fleetsWithKinds(libraries) {
  const plain = fleets(libraries);
  return libraries.filter((library) => plain.includes(library) || library.variant === "kind");
}
