import { afterEach, describe, test } from "vitest";
import type { HoldfastOptions } from "../../../src/client-options.js";
import type { Holdfast } from "../../../src/holdfast.js";
import { chapters, kinds } from "../../kinds/kinds.js";
import { ObservedDriver } from "../drivers/observed-driver.js";
import { plays } from "../run/played.js";
import { type Backend, openedFor } from "../servers/backends.js";

/** Makes a test of each behaviour of each kind of lock; or of those alone that hang on what is below the locks. */
export function describeKinds(
  backend: Backend,
  {
    only,
    settings = {},
  }: { readonly only?: "what hangs on drivers"; readonly settings?: HoldfastOptions } = {},
): void {
  const isWanted = ({ hangsOnDrivers = false }) => only === undefined || hangsOnDrivers;
  const server = openedFor(backend);
  describe.each(kinds)("a lock of the kind: $name", (kind) => {
    // Runs before the look for keys that were left behind.
    afterEach(async () => {
      for (const key of await server().keys()) {
        if (kind.leavesBehind !== undefined && key.startsWith(kind.leavesBehind))
          await server().raw("DEL", key);
      }
    });

    const drivers = new WeakMap<Holdfast, ObservedDriver>();
    const driverOf = (client: Holdfast): ObservedDriver => {
      const driver = drivers.get(client);
      if (driver === undefined) throw new TypeError("not a client of the scene");
      return driver;
    };
    if (backend.pair !== undefined) {
      const { client, topology } = backend.pair;
      plays({ client, topology, what: "kinds" });
    }
    const polling = kind.lacks.polling === undefined;

    for (const { title, behaviours } of chapters) {
      const had = behaviours
        .filter(isWanted)
        .filter(({ needs }) => needs === undefined || kind.lacks[needs] === undefined);
      if (had.length === 0) continue;
      describe(title, () => {
        for (const { promise, run } of had) {
          test(promise, () =>
            run({
              server: server(),
              client(options) {
                let driver: ObservedDriver | undefined;
                const given = { ...settings, ...options };
                const client = server().client(given, (inner) => (driver = new ObservedDriver(inner)));
                if (driver !== undefined) drivers.set(client, driver);
                return client;
              },
              lock: (client, name = "order") => kind.of(client, name),
              obstacle: (client, name = "order") => (kind.obstacle ?? kind.of)(client, name),
              member: (client, name = "order") => (kind.member ?? kind.of)(client, name),
              waits: (client) => driverOf(client).waits({ polling }),
              subscriptions: (client) => driverOf(client).subscriptions,
            }),
          );
        }
      });
    }
  });
}
