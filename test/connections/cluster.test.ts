import { Logger } from "@valkey/valkey-glide";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ask } from "../support/ask.js";
import { makeCertificates } from "../support/certificates.js";
import { noteConnections, traitsOf } from "../support/client-list.js";
import { type ConnectionSettings, configuredClients } from "../support/configured-clients.js";
import { documentedUser, knownRights } from "../support/documented-rights.js";
import { type HandingOver, handingOver } from "../support/handing-over.js";
import { watchLeaks } from "../support/leaks.js";
import { type RedisCluster, startCluster } from "../support/redis-cluster.js";
import { portFor } from "../support/redis-server.js";
import type { ServerTls } from "../support/server-tls.js";

Logger.init("off");

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

  const clients = configuredClients.filter(({ showsCertificates }) => showsCertificates || !isStrict);
  test.each(clients)("$name passes a lock on by a message, all connections being made so", async (client) => {
    const places = cluster.nodes.map((node) => ({ host, port: portFor(node) }));
    const connections = await noteConnections(cluster.nodes);
    scene = await handingOver(() => client.cluster(places, settings));
    await scene.lock(async () => {
      const made = await connections();
      const possible = places.map((place) => traitsOf(place, settings));
      for (const { user, db, reached } of made) expect(possible).toContainEqual({ user, db, reached });
      expect(made.filter(({ listens }) => listens)).toHaveLength(1);
      expect(made.filter(({ command }) => command === "wait")).toHaveLength(client.acknowledges ? 2 : 0);
    });
    for (const node of cluster.nodes) expect(await ask(node, "ACL", "LOG")).toEqual([]);
  });
});
