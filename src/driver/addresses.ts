/** A server's address. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** How the caller's client translates the addresses that servers announce. */
export type AddressMap =
  | Readonly<Record<string, Address>>
  | ((announced: string) => Address | null | undefined)
  | null
  | undefined;

/** The address at which the caller's client would reach a server. If `map` is a function, it gets the announced "host:port". */
export function addressOf(announced: string, map: AddressMap): Address {
  const known = typeof map === "function" ? map(announced) : map?.[announced];
  const at = announced.lastIndexOf(":");
  return known ?? { host: announced.slice(0, at), port: Number(announced.slice(at + 1)) };
}

/** "host:port" as a URL writes it, with brackets around an IPv6 address. */
export function inUrl(host = "localhost", port = 6379): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}
