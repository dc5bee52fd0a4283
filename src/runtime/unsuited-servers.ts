import { environment } from "../environment.js";
import { events, type ServerUnsuitedEvent } from "../events.js";
import type { ServerProbe } from "../protocol/lock-scripts.js";
import { inRootContext } from "../root-context.js";

/** Reports servers that are unsafe for locks, as far as a probe shows it. */
export class UnsuitedServers {
  readonly #clientId: string;
  /** Whether the process was warned. */
  #warned = false;
  /** The servers with faults that were already published. */
  readonly #told = new Set<string>();

  constructor(clientId: string) {
    this.#clientId = clientId;
  }

  /**
   * A server has answered again after a lost connection: another server may now be behind its address, for example after a failover behind
   * a proxy.
   * @param probe asks that server
   */
  metAgain(probe: () => Promise<void>): void {
    if (!events.serverUnsuited.hasSubscribers) return;
    inRootContext(probe).catch(() => undefined);
  }

  /** @param server the name of the probed server */
  met(server: string, { policy, memory, role }: ServerProbe): void {
    if (policy !== null && policy !== "noeviction") {
      this.#warn(server, policy);
      this.#tell({ server, what: "evicts", found: `maxmemory-policy ${policy}${limit(memory)}` });
    }
    if (role === "slave" || role === "replica") {
      this.#tell({ server, what: "is-replica", found: `role ${role}` });
    }
  }

  /**
   * Warns the process, once for each client, of a server that evicts keys when its memory is full: every policy except noeviction may
   * remove a lock before its TTL is over.
   */
  #warn(server: string, policy: string): void {
    if (this.#warned) return;
    this.#warned = true;
    const why = "a lock that is evicted when memory is full may have two holders; set noeviction";
    const kind = { type: "HoldfastWarning", code: "HOLDFAST_EVICTION" };
    environment.warn(`${server}: maxmemory-policy is ${policy}: ${why}`, kind);
  }

  #tell(fault: Omit<ServerUnsuitedEvent, "clientId">): void {
    if (!events.serverUnsuited.hasSubscribers) return;
    const id = `${fault.what} ${fault.server}`;
    if (this.#told.has(id)) return;
    this.#told.add(id);
    events.serverUnsuited.publish({ clientId: this.#clientId, ...fault });
  }
}

/** @param memory the server's `maxmemory` in bytes; null if the server does not report it */
function limit(memory: string | null): string {
  if (memory === null) return "";
  return memory === "0" ? ", maxmemory not set" : `, maxmemory ${memory}`;
}
