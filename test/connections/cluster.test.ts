import { Logger } from "@valkey/valkey-glide";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { noteConnections, traitsOf } from "../support/clients/client-list.js";
import {
  type ConfiguredClient,
  type ConnectionSettings,
  configuredClients,
} from "../support/clients/configured-clients.js";
import { watchLeaks } from "../support/run/leaks.js";
import { ask } from "../support/servers/ask.js";
import { makeCertificates } from "../support/servers/certificates.js";
import { documentedUser, knownRights } from "../support/servers/documented-rights.js";
import { type RedisCluster, startCluster } from "../support/servers/redis-cluster.js";
import { portFor } from "../support/servers/redis-server.js";
import type { ServerTls } from "../support/servers/server-tls.js";
import { type HandingOver, handingOver } from "../support/worlds/handing-over.js";

Logger.init("off");

/** As long as the lock's own calls may take, several times over. */
const FAILOVER_WITHIN_MS = 60_000;

async function nothing(): Promise<void> {}

interface Way {
  readonly name: string;
  readonly host: "127.0.0.1" | "::1";
  readonly tls: "no" | "lenient" | "strict";
}

const ways: readonly Way[] = [
  { name: "TLS and a user with the rights of the guide", host: "127.0.0.1", tls: "lenient" },
  { name: "client certificates and a user with the rights of the guide", host: "127.0.0.1", tls: "strict" },
  { name: "addresses of IPv6", host: "::1", tls: "no" },
];

describe.each(ways)("a cluster with $name", ({ host, tls }) => {
  let cluster: RedisCluster;
  let settings: ConnectionSettings = {};
  const isStrict = tls === "strict";

  beforeAll(async () => {
    if (tls === "no") {
      cluster = await startCluster({ host });
    } else {
      const certificates = await makeCertificates();
      const shown = isStrict ? certificates.client : {};
      settings = { ...documentedUser, tls: { ca: certificates.ca, ...shown } };
      const ofServers: ServerTls = { certificates, clientsShowTheirs: isStrict };
      cluster = await startCluster({ host, tls: ofServers });
    }
    for (const node of cluster.nodes)
      await ask(node, "ACL", "SETUSER", documentedUser.username, ...knownRights);
  });
  afterAll(() => cluster.stop());
  watchLeaks();

  let scene: HandingOver | undefined;
  afterEach(async () => {
    await scene?.close();
    scene = undefined;
  });

  /** Twice, and looks at the connections that there are meanwhile. */
  async function passOn(client: ConfiguredClient, prepare: () => Promise<void> = nothing): Promise<void> {
    const places = cluster.nodes.map((node) => ({ host, port: portFor(node) }));
    const possible = places.map((place) => traitsOf(place, settings));
    const connections = await noteConnections(cluster.nodes);
    scene = await handingOver(() => client.cluster(places, settings));
    const { lock } = scene;
    for (const before of [nothing, prepare]) {
      await before();
      await lock(async () => {
        const made = await connections();
        for (const { user, db, reached } of made) expect(possible).toContainEqual({ user, db, reached });
        expect(made.some(({ listens }) => listens)).toBe(true);
        expect(made.some(({ command }) => command === "wait")).toBe(client.acknowledges);
      });
    }
    for (const node of cluster.nodes) expect(await ask(node, "ACL", "LOG")).toEqual([]);
  }

  const clients = configuredClients.filter(({ showsCertificates }) => showsCertificates || !isStrict);
  test.each(clients)("$name passes locks on by messages, all connections being made so", (client) =>
    passOn(client),
  );

  const afterwards = "$name does so after a failover, and no right is refused [own-68]";
  test.each(clients.slice(0, 1))(afterwards, { timeout: FAILOVER_WITHIN_MS }, async (client) => {
    await passOn(client, async () => {
      const [master] = await cluster.masters();
      if (master !== undefined) await cluster.failover(master);
      await cluster.settled();
    });
  });
});
