import { environment } from "./environment.js";

/** Three hexadecimal digits. */
const GRANT_PROTOCOL = "001";

/** The place of the digit with the UUID's version. */
const VERSION_AT = 14;

/** The program behind a client id, or behind a holder, which begins with a client id. The version of the UUID shows the program. */
export function originOf(clientId: string): "holdfast" | "jvm" | "other" {
  if (!/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?::|$)/.test(clientId)) return "other";
  const version = clientId[VERSION_AT];
  if (version === "8") return "holdfast";
  return version === "4" ? "jvm" : "other";
}

/**
 * A UUID of version 8; Redisson's client ids have version 4. The twelve bits after the version name the protocol that this client follows
 * when the script of a release gives it the lock.
 */
export function newClientId(): string {
  const random = environment.uuid();
  return `${random.slice(0, VERSION_AT)}8${GRANT_PROTOCOL}${random.slice(18)}`;
}
