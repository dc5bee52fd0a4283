/** What is known of the masters of a cluster. A master is named by its address, "host:port". */
export interface Masters {
  /** The master that has the slot of a key or a channel; undefined while none is known. */
  masterOf(key: string): string | undefined;
  /** Asks the cluster anew who has which slot. Never rejects. */
  refresh(): Promise<void>;
}

/** A server's address. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** What the caller's client makes of the addresses that servers announce. */
export type AddressMap =
  | Readonly<Record<string, Address>>
  | ((announced: string) => Address | null | undefined)
  | null
  | undefined;

/** The address, "host:port" as a server has announced it, at which the caller's client would reach a server. */
export function addressOf(announced: string, map: AddressMap): Address {
  const known = typeof map === "function" ? map(announced) : map?.[announced];
  const at = announced.lastIndexOf(":");
  return known ?? { host: announced.slice(0, at), port: Number(announced.slice(at + 1)) };
}

/** A slot that is being moved redirects once, to a master that knows. */
export const MOST_REDIRECTS = 3;

/** What the client knows after a look goes before the address in a redirection, which it may reach by another one. */
export async function newMaster<Address extends string | undefined>(
  masters: Masters,
  key: string,
  old: string,
  redirectedTo: Address,
): Promise<string | Address> {
  await masters.refresh();
  const known = masters.masterOf(key);
  return known === undefined || known === old ? redirectedTo : known;
}
