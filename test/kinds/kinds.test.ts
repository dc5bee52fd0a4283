import { afterEach, describe, test } from "vitest";
import { backends, openedFor } from "../support/backends.js";
import { chapters, kinds } from "./kinds.js";

describe.each(backends)("on $name", (backend) => {
  describe.each(kinds)("a lock of the kind: $name", (kind) => {
    const server = openedFor(backend);
    // Runs before the look for keys that were left behind.
    afterEach(async () => {
      for (const key of await server().keys()) {
        if (kind.leavesBehind !== undefined && key.startsWith(kind.leavesBehind))
          await server().raw("DEL", key);
      }
    });

    for (const { title, behaviours } of chapters) {
      describe(title, () => {
        for (const { promise, needs, run } of behaviours) {
          if (needs !== undefined && kind.lacks[needs] !== undefined) continue;
          test(promise, () =>
            run({
              server: server(),
              client: (options) => server().client(options),
              lock: (client, name = "order") => kind.of(client, name),
              obstacle: (client, name = "order") => (kind.obstacle ?? kind.of)(client, name),
            }),
          );
        }
      });
    }
  });
});
