import { environment } from "../environment.js";

/**
 * Tells the process, once for each client, of a server that removes keys when its memory is full: every policy but one may remove a
 * lock before its TTL is over.
 */
export class EvictionWarning {
  #told = false;

  /** @param policy the server's `maxmemory-policy`; null where it does not tell */
  tell(server: string, policy: string | null): void {
    if (this.#told || policy === null || policy === "noeviction") return;
    this.#told = true;
    const why = "a lock that is evicted when memory is full may have two holders; set noeviction";
    const kind = { type: "HoldfastWarning", code: "HOLDFAST_EVICTION" };
    environment.warn(`${server}: maxmemory-policy is ${policy}: ${why}`, kind);
  }
}
