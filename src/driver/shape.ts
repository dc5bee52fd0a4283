/** What an adapter was tested with, and what it uses of a client. */
interface WantedShape {
  /** The function that makes the driver. */
  readonly adapter: string;
  /** The versions of the Redis libraries that the tests run. */
  readonly tested: string;
  readonly members: readonly string[];
}

/**
 * No version of a Redis library is refused by its number. One that the tests do not run may lack what the adapter uses: that is told here,
 * and not in the midst of a call.
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
