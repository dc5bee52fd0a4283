/** The versions that an adapter was tested with, and the members of a client that it uses. */
interface WantedShape {
  /** The function that makes the driver. */
  readonly adapter: string;
  /** The versions of the Redis library that the tests run. */
  readonly tested: string;
  readonly members: readonly string[];
}

/**
 * A version is never refused by its number. A version that the tests do not run may lack a member that the adapter uses: the error then
 * comes here, not during a call.
 * @throws TypeError
 */
export function assertShape(client: object, { adapter, tested, members }: WantedShape): void {
  const missing = members.filter((member) => !(member in client));
  if (missing.length === 0) return;
  const { name } = client.constructor;
  if (/mock/i.test(name)) {
    throw new TypeError(
      `${adapter} can not use this client: ${name.replace(/^_/, "")} is a mock, which has no ${missing.join(", ")}. For tests without a server, use ` +
        'the embedded server of "holdfast/memory", as in new Holdfast(memoryDriver())',
    );
  }
  throw new TypeError(
    `${adapter} can not use this client: it has no ${missing.join(", ")}. Tested versions: ${tested}`,
  );
}
