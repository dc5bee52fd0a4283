const DEFAULT = "default";

/** The token of the client with that name, for `inject`, `overrideProvider` and the like. */
export function getHoldfastToken(client: string = DEFAULT): string {
  return `Holdfast(${client})`;
}

/** The token of a lock that `forFeature` has made. */
export function getLockToken(name: string, client: string = DEFAULT): string {
  return `HoldfastLock(${client}, ${name})`;
}

/** The token of the object that closes a client: an application has one such object for each name. */
export function lifeToken(client: string = DEFAULT): string {
  return `HoldfastLife(${client})`;
}

/** The token of the object that tells the health indicator whether messages arrive. */
export function messagesToken(client: string = DEFAULT): string {
  return `HoldfastMessages(${client})`;
}
