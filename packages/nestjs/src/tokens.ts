const DEFAULT = "default";

/** Of the client with that name, for `inject`, `overrideProvider` and the like. */
export function getHoldfastToken(client: string = DEFAULT): string {
  return `Holdfast(${client})`;
}

/** Of a lock that `forFeature` has made. */
export function getLockToken(name: string, client: string = DEFAULT): string {
  return `HoldfastLock(${client}, ${name})`;
}
