import { Logger } from "@valkey/valkey-glide";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type ListedConnection, noteConnections, traitsOf } from "../support/clients/client-list.js";
import {
  type ConfiguredClient,
  type ConnectionSettings,
  configuredClients,
  type Place,
} from "../support/clients/configured-clients.js";
import { versions } from "../support/clients/node-redis-clients.js";
import type { ConnectedClient } from "../support/clients/pair.js";
import { watchLeaks } from "../support/run/leaks.js";
import { makeCertificates } from "../support/servers/certificates.js";
import { documentedUser } from "../support/servers/documented-rights.js";
import { isBefore7 } from "../support/servers/redis-program.js";
import { type SecuredServer, startSecured } from "../support/servers/secured-server.js";
import type { Certificates } from "../support/servers/server-tls.js";
import { type HandingOver, handingOver } from "../support/worlds/handing-over.js";

Logger.init("off");

let certificates: Certificates;
/** Asks its clients for no certificate. */
let lenient: SecuredServer;
/** Serves only clients who show one. */
let strict: SecuredServer;

beforeAll(async () => {
  certificates = await makeCertificates();
  [lenient, strict] = await Promise.all([
    startSecured({ certificates, clientsShowTheirs: false }),
    startSecured({ certificates, clientsShowTheirs: true }),
  ]);
});
afterAll(() => Promise.all([lenient.stop(), strict.stop()]));
watchLeaks();

/** How a client is to reach its server. */
interface Way {
  readonly server: SecuredServer;
  readonly place: Place;
  readonly settings: ConnectionSettings;
  /** Whether the client is given a URL for all but the certificates. */
  readonly asUrl?: boolean;
}

const IPV4 = "127.0.0.1";
const IPV6 = "::1";
const plainly = (settings: ConnectionSettings): Way => ({
  server: lenient,
  place: { host: IPV4, port: lenient.master.port },
  settings,
});
const ownCertificate = () => ({ ca: certificates.ca, ...certificates.client });
const everything = (host: string): Way => ({
  server: strict,
  place: { host, port: strict.tlsPort },
  settings: { ...documentedUser, db: 5, tls: ownCertificate() },
});

const ways = {
  "TLS with an authority of one's own": () => ({
    server: lenient,
    place: { host: IPV4, port: lenient.tlsPort },
    settings: { tls: { ca: certificates.ca } },
  }),
  "TLS with a client certificate": () => ({
    server: strict,
    place: { host: IPV4, port: strict.tlsPort },
    settings: { tls: ownCertificate() },
  }),
  "a user with the rights of the guide": () => plainly(documentedUser),
  "a unix socket": () => ({ server: lenient, place: { path: lenient.socketPath }, settings: {} }),
  "a database other than 0": () => plainly({ db: 3 }),
  IPv6: () => ({ server: lenient, place: { host: IPV6, port: lenient.master.port }, settings: {} }),
  RESP2: () => plainly({ protocol: 2 }),
  RESP3: () => plainly({ protocol: 3 }),
  "all of these that go together": () => everything(IPV6),
  "a URL": () => ({ ...everything(IPV4), asUrl: true }),
  "a URL with an address of IPv6": () => ({ ...everything(IPV6), asUrl: true }),
} as const satisfies Readonly<Record<string, () => Way>>;

type WayName = keyof typeof ways;

/** What a client can not do, each with a test below. */
const impossible: Readonly<Record<string, readonly WayName[]>> = {
  "ioredis 5": ["RESP3"],
  iovalkey: ["RESP3"],
  "node-redis 6": ["a URL with an address of IPv6"],
  GLIDE: [
    ...(["TLS with a client certificate", "all of these that go together", "a unix socket"] as const),
    ...(["a URL", "a URL with an address of IPv6"] as const),
  ],
};

function connect(client: ConfiguredClient, { place, settings, asUrl }: Way): Promise<ConnectedClient> {
  if (!asUrl) return client.server(place, settings);
  if (client.url === undefined) throw new Error(`${client.name} takes no URL`);
  const { username, password, db, tls } = settings;
  const url = `rediss://${username}:${password}@${hostIn(place)}:${place.port}/${db}`;
  return client.url(url, tls === undefined ? {} : { tls });
}

function hostIn({ host = "" }: Place): string {
  return host.includes(":") ? `[${host}]` : host;
}

let scene: HandingOver | undefined;
afterEach(async () => {
  await scene?.close();
  scene = undefined;
});

async function open(client: ConfiguredClient, way: Way): Promise<HandingOver> {
  scene = await handingOver(() => connect(client, way));
  return scene;
}

/** The connections that two clients have, one of which waits for the other. */
async function connectionsOnTheWay(client: ConfiguredClient, way: Way): Promise<readonly ListedConnection[]> {
  const made = await noteConnections([way.server.master]);
  let seen: readonly ListedConnection[] = [];
  await (await open(client, way)).lock(async () => {
    seen = await made();
  });
  return seen;
}

describe.each(configuredClients)("$name", (client) => {
  const lacking = impossible[client.name] ?? [];
  const possible = (Object.keys(ways) as WayName[]).filter((name) => !lacking.includes(name));

  test.each(possible)("passes a lock on by a message, all connections being made by %s", async (name) => {
    const way: Way = ways[name]();
    const { place, settings } = way;
    await way.server.refusals();
    const made = await connectionsOnTheWay(client, way);
    for (const { user, db, reached } of made)
      expect({ user, db, reached }).toEqual(traitsOf(place, settings));
    expect(made.filter(({ listens }) => listens)).toHaveLength(1);
    expect(made.filter(({ command }) => command === "wait")).toHaveLength(client.acknowledges ? 2 : 0);
    expect(await way.server.refusals()).toEqual([]);
  });

  test("passes permits on by a message, with all settings that go together", async () => {
    const isPossible = possible.includes("all of these that go together");
    const way = isPossible ? everything(IPV6) : ways["TLS with an authority of one's own"]();
    await (await open(client, way)).permits();
    expect(scene).toBeDefined();
  });

  // Redis 6.2 does not tell which version a connection speaks.
  test.skipIf(isBefore7()).each([2, 3] as const)(
    "speaks on all connections what it can of RESP%d",
    async (protocol) => {
      const made = await connectionsOnTheWay(client, plainly({ protocol }));
      expect([...new Set(made.map(({ resp }) => resp))].sort()).toEqual(client.speaks(protocol));
    },
  );
});

describe("what a client can not do fails when it connects, before a lock is asked for", () => {
  const glide = configuredClients.find(({ name }) => name === "GLIDE") as ConfiguredClient;

  test("GLIDE shows no certificate, and a server that demands one turns it away", async () => {
    await expect(connect(glide, everything(IPV4))).rejects.toThrow("Connection error");
  });

  test("GLIDE takes the path of a unix socket for the name of a host", async () => {
    await expect(connect(glide, ways["a unix socket"]())).rejects.toThrow("Connection error");
  });

  test("node-redis 6 takes the brackets in a URL for a part of the address", async () => {
    const [{ client }] = versions;
    const url = `redis://[${IPV6}]:${lenient.master.port}`;
    const redis = client({ url, socket: { reconnectStrategy: false } });
    redis.on("error", () => undefined);
    await expect(redis.connect()).rejects.toThrow(`ENOTFOUND [${IPV6}]`);
  });
});
