import { afterEach } from "vitest";
import { detailOf, meOf, night } from "./fleet.js";
import { MockServer, type MockState } from "./mock-server.js";

/** Starts servers of the page, which are closed after each test. Default: a night on which three wait for `order:42`. */
export function served(): (changes?: Partial<MockState>) => Promise<MockServer> {
  const started: MockServer[] = [];
  afterEach(async () => {
    for (const server of started.splice(0)) await server.close();
  });
  return async (changes = {}) => {
    const { snapshot = night() } = changes;
    const server = await MockServer.start({
      me: meOf(),
      snapshot,
      detail: (key) => detailOf(snapshot, key),
      freed: { outcome: "released", now: null },
      ...changes,
    });
    started.push(server);
    return server;
  };
}
