const DEFAULT = "default";

/** Of the client with that name, for `inject`, `overrideProvider` and the like. */
export function getHoldfastToken(client: string = DEFAULT): string {
  return `Holdfast(${client})`;
}

/** Of a lock that `forFeature` has made. */
export function getLockToken(name: string, client: string = DEFAULT): string {
  return `HoldfastLock(${client}, ${name})`;
}

/** Of what closes a client: there is one in an application for each name. */
export function lifeToken(client: string = DEFAULT): string {
  return `HoldfastLife(${client})`;
}

/** Of what the health indicator asks whether messages arrive. */
export function messagesToken(client: string = DEFAULT): string {
  return `HoldfastMessages(${client})`;
}
