import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { until } from "../../../test/support/run/until.js";
import { ask } from "../../../test/support/servers/ask.js";
import { makeCertificates } from "../../../test/support/servers/certificates.js";
import {
  documentedUser,
  knownRights,
  presenceRight,
} from "../../../test/support/servers/documented-rights.js";
import { isRequestKey } from "../../../test/support/servers/request-keys.js";
import { type SecuredServer, startSecured } from "../../../test/support/servers/secured-server.js";
import { type ConnectionFiles, connectionFiles } from "./support/connection-files.js";
import { execRuns } from "./support/exec-runs.js";
import { endTelling, telling, toldHold } from "./support/told-hold.js";

const NAME = "order:42";
const TTL_MS = 5_000;

let server: SecuredServer;
let files: ConnectionFiles;

beforeAll(async () => {
  const certificates = await makeCertificates();
  server = await startSecured({ certificates, clientsShowTheirs: true });
  files = connectionFiles(certificates, documentedUser.password);
});
afterAll(async () => {
  await server.stop();
  files.remove();
});
afterEach(async () => {
  const keys = (await ask(server.master, "KEYS", "*")) as string[];
  expect(keys.filter((key) => !isRequestKey(key) && !key.startsWith("redisson_lock_token:"))).toEqual([]);
});

const start = execRuns(() => "");
const tls = () => ["--tls-cert", files.cert, "--tls-key", files.key];
const asUser = () => ({
  HOLDFAST_URL: server.master.url,
  HOLDFAST_USER: documentedUser.username,
  HOLDFAST_PASSWORD: documentedUser.password,
});

describe("a command runs under its lock, another waits for it, and the lock is free afterwards", () => {
  it.each<[string, () => [args: string[], env?: NodeJS.ProcessEnv]]>([
    ["by a unix socket", () => [["--url", `unix://${server.socketPath}`]]],
    ["by REDIS_URL", () => [[], { REDIS_URL: server.master.url }]],
    [
      "by TLS with an authority of one's own and a client certificate",
      () => [["--url", `rediss://127.0.0.1:${server.tlsPort}`, "--tls-ca", files.ca, ...tls()]],
    ],
    [
      "by TLS as the user of the guide, with a password from a file",
      () => [
        [
          ...["--url", `rediss://127.0.0.1:${server.tlsPort}`, "--tls-ca", files.ca, ...tls()],
          ...["--user", documentedUser.username, "--password-file", files.password],
        ],
      ],
    ],
  ])("%s", async (_, way) => {
    const [args, env = {}] = way();
    const run = start(["exec", NAME, ...args, "--", ...telling], { env, stdin: "pipe" });
    const { holder, held } = await toldHold(run);
    expect(held).toBe(NAME);
    expect(await ask(server.master, "HKEYS", NAME)).toEqual([holder]);
    expect(await start(["exec", NAME, "-n", ...args, "--", "echo", "in"], { env }).exited).toBe(75);
    const waiter = start(["exec", NAME, "--report-every", "100ms", ...args, "--", "echo", "in"], { env });
    await waiter.complains(`waiting for "${NAME}"`);
    expect(waiter.out).toBe("");
    expect(await endTelling(run)).toBe(7);
    expect(run.err).toBe("");
    expect([await waiter.exited, waiter.out]).toEqual([0, "in\n"]);
    expect(await ask(server.master, "EXISTS", NAME)).toBe(0);
  });

  it("by TLS without verification, which is said each time", async () => {
    const url = `rediss://127.0.0.1:${server.tlsPort}`;
    const run = start(["exec", NAME, "--url", url, "--tls-no-verify", ...tls(), "--", "sh", "-c", "exit 4"]);
    expect(await run.exited).toBe(4);
    expect(run.err).toMatch(/^holdfast: the server's certificate is not verified: .*\n$/);
  });
});

describe("a command is not started", () => {
  it("where the certificate is of another authority", async () => {
    const url = `rediss://127.0.0.1:${server.tlsPort}`;
    const run = start(["exec", NAME, "--url", url, "--tls-ca", files.cert, ...tls(), "--", "echo", "in"]);
    expect([await run.exited, run.out]).toEqual([69, ""]);
    expect(run.err).toContain("certificate");
  });

  it("where the password is wrong", async () => {
    const env = { ...asUser(), HOLDFAST_PASSWORD: "geheim" };
    const run = start(["exec", NAME, "--", "echo", "in"], { env });
    expect([await run.exited, run.out]).toEqual([69, ""]);
    expect(run.err).toContain("refuses the login: WRONGPASS");
    expect(run.err).not.toContain("geheim");
  });
});

/** What the user was refused, but for what Redis clients ask for beside it. */
async function refusals(): Promise<readonly string[]> {
  const log = (await server.refusals()) as readonly (readonly unknown[])[];
  const objects = log.map((entry) => String(entry[entry.indexOf("object") + 1]));
  return objects.filter((object) => object !== "client|setinfo");
}

describe("a user with the rights of the guide and no others", () => {
  it.each(["lock", "fair", "fenced", "read", "write"])(
    "runs commands under a %s, which is waited for, renewed and released, and tells nothing of itself",
    async (kind) => {
      const env = asUser();
      await refusals();
      const options = ["--kind", kind, "--ttl", "5s"];
      const run = start(["exec", NAME, ...options, "--", ...telling], { env, stdin: "pipe" });
      const { holder } = await toldHold(run);
      const contended = ["exec", NAME, "--kind", "write", "--report-every", "100ms", "--", "echo", "in"];
      const waiter = start(contended, { env });
      await waiter.complains(`waiting for "${NAME}"`);
      const leftMs = async () => Number(await ask(server.master, "PTTL", NAME));
      await until(async () => (await leftMs()) < TTL_MS - 1_000);
      await until(async () => (await leftMs()) > TTL_MS - 500);
      expect(await ask(server.master, "HKEYS", NAME)).toEqual(
        expect.arrayContaining([expect.stringContaining(holder)]),
      );
      expect(await endTelling(run)).toBe(7);
      expect(run.err).toBe("");
      expect(await waiter.exited).toBe(0);
      expect((await refusals()).filter((object) => !object.startsWith("holdfast_client"))).toEqual([]);
    },
  );

  it("is refused nothing, and is told by name, with the right to the keys of presence", async () => {
    await ask(server.master, "ACL", "SETUSER", documentedUser.username, presenceRight);
    await refusals();
    const env = asUser();
    const run = start(["exec", NAME, "--", ...telling], { env, stdin: "pipe" });
    await toldHold(run);
    const waiter = start(["exec", NAME, "--report-every", "100ms", "--", "echo", "in"], { env });
    await waiter.complains(` pid ${run.pid} `);
    expect(await endTelling(run)).toBe(7);
    expect(await waiter.exited).toBe(0);
    expect(await refusals()).toEqual([]);
    await ask(server.master, "ACL", "SETUSER", documentedUser.username, ...knownRights);
  });
});
