import type { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ask } from "../../../test/support/servers/ask.js";
import { makeCertificates } from "../../../test/support/servers/certificates.js";
import { documentedUser } from "../../../test/support/servers/documented-rights.js";
import { type RedisCluster, startCluster } from "../../../test/support/servers/redis-cluster.js";
import { portFor } from "../../../test/support/servers/redis-server.js";
import { type SecuredServer, startSecured } from "../../../test/support/servers/secured-server.js";
import { startSentinels, type WatchedRedis } from "../../../test/support/servers/sentinels.js";
import type { Certificates } from "../../../test/support/servers/server-tls.js";
import { JVM } from "../../../test/support/worlds/listed.js";
import { holdfast, type Written } from "./support/command-line.js";
import { type ConnectionFiles, connectionFiles } from "./support/connection-files.js";

const PASSWORD = documentedUser.password;
const NAME = "order:42";
const HOUR_MS = 3_600_000;

let certificates: Certificates;
let server: SecuredServer;
let files: ConnectionFiles;

beforeAll(async () => {
  certificates = await makeCertificates();
  server = await startSecured({ certificates, clientsShowTheirs: true });
  files = connectionFiles(certificates, PASSWORD);
  await ask(server.master, "HSET", NAME, `${JVM}:57`, 1);
});
afterAll(async () => {
  await server.stop();
  files.remove();
});

const show = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Written> =>
  holdfast(["show", "--exit-code", NAME, ...args], { env });

const showsIt = { code: 0, out: expect.stringContaining(`JVM ${JVM.slice(0, 4)}…:57`) };

describe("a server is reached", () => {
  test.each<[string, () => [args: string[], env?: NodeJS.ProcessEnv]]>([
    ["plainly", () => [["--url", server.master.url]]],
    ["by a unix socket", () => [["--url", `unix://${server.socketPath}`]]],
    ["with a URL in REDIS_URL", () => [[], { REDIS_URL: server.master.url }]],
    [
      "as a user with the rights of the guide, and a password from a file",
      () => [
        ["--url", server.master.url, "--user", documentedUser.username, "--password-file", files.password],
      ],
    ],
    [
      "as the same user, by the environment",
      () => [
        [],
        {
          HOLDFAST_URL: server.master.url,
          HOLDFAST_USER: documentedUser.username,
          HOLDFAST_PASSWORD: PASSWORD,
        },
      ],
    ],
    [
      "by TLS with an authority of one's own and a client certificate",
      () => [
        [
          "--url",
          `rediss://127.0.0.1:${server.tlsPort}`,
          "--tls-ca",
          files.ca,
          "--tls-cert",
          files.cert,
          "--tls-key",
          files.key,
        ],
      ],
    ],
    [
      "by TLS without verification",
      () => [
        [
          "--url",
          `rediss://127.0.0.1:${server.tlsPort}`,
          "--tls-no-verify",
          "--tls-cert",
          files.cert,
          "--tls-key",
          files.key,
        ],
      ],
    ],
  ])("%s", async (_, way) => {
    expect(await show(...way())).toMatchObject(showsIt);
  });

  test("in the database that the URL names", async () => {
    expect((await show(["--url", `${server.master.url}/3`])).code).toBe(1);
    expect((await show(["--url", `unix://${server.socketPath}?db=3`])).code).toBe(1);
  });
});

describe("Redis that can not be used fails with its own code, and without a login", () => {
  test.each<[string, () => [args: string[], env?: NodeJS.ProcessEnv], number, string]>([
    [
      "nothing listens",
      () => [["--url", "redis://ada:geheim@127.0.0.1:1"]],
      69,
      "127.0.0.1:1 can not be reached: ",
    ],
    [
      "a wrong password",
      () => [["--url", server.master.url.replace("://", "://orders:geheim@")]],
      69,
      "refuses the login: WRONGPASS",
    ],
    [
      "a certificate of an unknown authority",
      () => [["--url", `rediss://:geheim@127.0.0.1:${server.tlsPort}`, "--tls-ca", files.cert]],
      69,
      "certificate",
    ],
    [
      "a Sentinel that knows no such master",
      () => [["--url", `redis+sentinel://:geheim@127.0.0.1:1/main`, "--connect-timeout", "500ms"]],
      69,
      'the master "main" of the Sentinels 127.0.0.1:1 can not be reached',
    ],
    [
      "a database that there is not",
      () => [["--url", `${server.master.url}/99`]],
      69,
      "DB index is out of range",
    ],
    [
      "no right",
      () => [
        [
          "--url",
          server.master.url,
          "--user",
          documentedUser.username,
          "--password-file",
          files.password,
          "forbidden",
        ],
      ],
      77,
      "NOPERM",
    ],
  ])("%s", async (_, way, code, why) => {
    const written = await show(...way());
    expect(written).toMatchObject({ code, err: expect.stringContaining(why) });
    expect(written.out + written.err).not.toMatch(/geheim/);
  });
});

describe("Sentinels and clusters", () => {
  let watched: WatchedRedis;
  let cluster: RedisCluster;
  beforeAll(async () => {
    [watched, cluster] = await Promise.all([startSentinels(), startCluster({ replicas: 0 })]);
  });
  afterAll(() => Promise.all([watched.stop(), cluster.stop()]));

  test("lead to the master", async () => {
    const master = await watched.master();
    await ask(master, "HSET", NAME, `${JVM}:57`, 1);
    const hosts = watched.sentinels.map(({ host, port }) => `${host}:${port}`).join(",");
    expect(await show(["--url", `redis+sentinel://${hosts}/${watched.name}`])).toMatchObject(showsIt);
  });

  test("lead to the master that has the slot, which is told", async () => {
    const owner = await cluster.masterOf(NAME);
    const redis: Redis = owner.client();
    await redis.hset(NAME, `${JVM}:57`, "1");
    await redis.pexpire(NAME, HOUR_MS);
    const url = `redis+cluster://${cluster.nodes.map((node) => `127.0.0.1:${portFor(node)}`).join(",")}`;
    const shown = await show(["--url", url]);
    expect(shown).toMatchObject(showsIt);
    expect(shown.out).toContain(`slot ${await cluster.slotOf(NAME)} at 127.0.0.1:${owner.port}`);
    const listed = await holdfast(["ls", "--scan", "--json", "--url", url]);
    expect(listed.lines.map((line) => (JSON.parse(line) as { name: string }).name)).toEqual([NAME]);
  });
});
