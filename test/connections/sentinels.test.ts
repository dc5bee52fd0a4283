import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { noteConnections, traitsOf } from "../support/clients/client-list.js";
import { type ConnectionSettings, configuredClients } from "../support/clients/configured-clients.js";
import { watchLeaks } from "../support/run/leaks.js";
import { ask } from "../support/servers/ask.js";
import { makeCertificates } from "../support/servers/certificates.js";
import { documentedUser, knownRights } from "../support/servers/documented-rights.js";
import { portFor, type RedisServer } from "../support/servers/redis-server.js";
import { startSentinels, type WatchedRedis } from "../support/servers/sentinels.js";
import { type HandingOver, handingOver } from "../support/worlds/handing-over.js";

const sentinelUser = { username: "watcher", password: "hush" } as const;

/** Ten times what it takes. */
const FAILOVER_WITHIN_MS = 30_000;

interface Way {
  readonly name: string;
  readonly host: "127.0.0.1" | "::1";
  readonly isSecured: boolean;
}

const ways: readonly Way[] = [
  { name: "client certificates and users of their own", host: "127.0.0.1", isSecured: true },
  { name: "addresses of IPv6", host: "::1", isSecured: false },
];

describe.each(ways)(
  "Sentinels and servers with $name, and a database other than 0",
  ({ host, isSecured }) => {
    let servers: WatchedRedis;
    let settings: ConnectionSettings = { db: 5 };
    const forSentinels = isSecured ? sentinelUser : {};

    beforeAll(async () => {
      if (isSecured) {
        const certificates = await makeCertificates();
        settings = { ...settings, ...documentedUser, tls: { ca: certificates.ca, ...certificates.client } };
        servers = await startSentinels({
          host,
          sentinels: 1,
          tls: { certificates, clientsShowTheirs: true },
        });
      } else {
        servers = await startSentinels({ host, sentinels: 1 });
      }
      const { username, password } = sentinelUser;
      for (const node of servers.nodes)
        await ask(node, "ACL", "SETUSER", documentedUser.username, ...knownRights);
      for (const watcher of servers.watchers)
        await ask(watcher, "ACL", "SETUSER", username, "on", `>${password}`, "+@all", "&*");
    });
    afterAll(() => servers.stop());
    watchLeaks();

    let scene: HandingOver | undefined;
    afterEach(async () => {
      await scene?.close();
      scene = undefined;
    });

    const traits = (server: RedisServer, given: ConnectionSettings) =>
      traitsOf({ host, port: portFor(server) }, given);

    for (const { name, sentinel, listensToSentinels } of configuredClients) {
      if (sentinel === undefined) continue;
      const promise = `${name} passes a lock on by a message, before a failover and after it`;
      test(promise, { timeout: FAILOVER_WITHIN_MS }, async () => {
        const toNodes = await noteConnections(servers.nodes);
        const toSentinels = await noteConnections(servers.watchers);
        scene = await handingOver(() =>
          sentinel({ name: servers.name, sentinels: servers.sentinels, user: forSentinels }, settings),
        );

        for (const prepare of [async () => undefined, failover]) {
          await prepare();
          const master = await servers.master();
          await scene.lock(async () => {
            const made = await toNodes();
            const onMaster = made.filter(({ reached }) => reached === traits(master, settings).reached);
            expect(onMaster.filter(({ listens }) => listens)).toHaveLength(1);
            expect(onMaster.filter(({ command }) => command === "wait")).toHaveLength(2);
            const ofNodes = servers.nodes.map((node) => traits(node, settings));
            for (const { user, db, reached } of made) expect(ofNodes).toContainEqual({ user, db, reached });

            const watching = await toSentinels();
            if (listensToSentinels) expect(watching.filter(({ listens }) => listens)).toHaveLength(2);
            const ofSentinels = servers.watchers.map((watcher) => traits(watcher, forSentinels));
            for (const { user, db, reached } of watching)
              expect(ofSentinels).toContainEqual({ user, db, reached });
          });
        }
      });
    }

    async function failover(): Promise<void> {
      await servers.failover();
      await servers.settled();
    }
  },
);
