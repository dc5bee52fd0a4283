import { environment } from "./environment.js";

/** Three hexadecimal digits. */
const GRANT_PROTOCOL = "001";

/**
 * A UUID of version 8, where Redisson's are of version 4: the twelve bits behind the version say which protocol this
 * client follows when the script of a release gives the lock to a waiter.
 */
export function newClientId(): string {
  const random = environment.uuid();
  return `${random.slice(0, 14)}8${GRANT_PROTOCOL}${random.slice(18)}`;
}
