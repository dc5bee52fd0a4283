import { isIP, isIPv4 } from "node:net";
import { mistake } from "../failure.js";

const LOCAL = ["localhost", "127.0.0.1", "[::1]"];
const EVERYWHERE = new Set(["0.0.0.0", "::"]);

/** Whether only this machine can reach a server that listens on this address. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));
}

/** Whether a server that listens on this address can be reached at all addresses of the machine. */
export function isAnywhere(host: string): boolean {
  return EVERYWHERE.has(host);
}

/** A host in the form that URLs use. */
export function inUrl(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host;
}

/**
 * The host names that requests for the page may have. A stranger can make the name of a page lead to this machine (DNS rebinding). The
 * browser then takes the stranger's page and this page for the same site, but still sends the stranger's name as `Host`.
 */
export class AllowedHosts {
  readonly #names: ReadonlySet<string>;

  /** @throws Failure for an invalid name */
  constructor(listensOn: string, others: readonly string[]) {
    const own = isAnywhere(listensOn) ? [] : [inUrl(listensOn)];
    this.#names = new Set([...LOCAL, ...own, ...others.map(checked)].map((name) => name.toLowerCase()));
  }

  /** Any port is allowed, because the port may be forwarded. */
  allows(host: string | undefined): boolean {
    const [, name] = /^(\[[\da-f:.]+\]|[^:[\]]+)(?::\d{1,5})?$/i.exec(host ?? "") ?? [];
    return name !== undefined && this.#names.has(name.toLowerCase());
  }
}

function checked(name: string): string {
  const host = inUrl(name);
  if (!/^(?:\[[\da-f:.]+\]|[a-z\d._-]+)$/i.test(host))
    throw mistake(`--allow-host takes the name of a host, without a scheme and a port, got "${name}"`);
  return host;
}
