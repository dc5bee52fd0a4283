import { once } from "node:events";
import { createServer } from "node:net";
import { describe, expect, test } from "vitest";
import { delay } from "../../../test/support/faults/proxy-faults.js";
import { startProxy } from "../../../test/support/faults/tcp-proxy.js";
import { soon } from "../../../test/support/servers/ask.js";
import { knownRights } from "../../../test/support/servers/documented-rights.js";
import { isBefore7 } from "../../../test/support/servers/redis-program.js";
import { startRedis } from "../../../test/support/servers/redis-server.js";
import { startReplicated } from "../../../test/support/servers/replicated-redis.js";
import { isRequestKey } from "../../../test/support/servers/request-keys.js";
import { holdfast } from "./support/command-line.js";
import { diagnose } from "./support/diagnosis.js";
import { patients, userWith } from "./support/patients.js";

const patient = patients();

describe("doctor finds nothing", () => {
  test("where all is well, and leaves no key behind", async () => {
    const { server, plain } = await patient.start();
    const { code, faults, entries, of } = await diagnose(server.url, ["--name", "order:42"]);
    expect(faults).toEqual([]);
    expect(code).toBe(entries.some(({ level }) => level === "fail") ? 1 : 0);
    expect(of("version")).toMatch(/^ok: (?:Redis|Valkey) \d/);
    expect(of("rights")).toContain("has all rights that locks need");
    expect(of("messages")).toContain("ok: a message came after");
    expect(of("clock")).toContain("ok: runs evenly");
    expect(of("foreign")).toBe('ok: "order:42" is free');
    expect(of("cluster")).toBe("skip: no redis+cluster:// URL");
    expect((await plain.keys("*")).filter((key) => !isRequestKey(key))).toEqual([]);
    expect(entries.every((entry) => Object.keys(entry).join() === "id,level,found,why,wanted,doc")).toBe(
      true,
    );
  });

  test("for a user with the rights of the guide", async () => {
    const { server, plain } = await patient.start();
    const env = await userWith(plain, knownRights);
    const { faults, of } = await diagnose(server.url, ["--name", "order:42"], env);
    expect(faults).toEqual([]);
    expect(of("rights")).toContain("ok: the user");
    expect(of("limits")).toBe("skip: no right to CONFIG GET");
    expect(of("slow")).toContain("skip: no right to SLOWLOG GET");
    expect(of("fleet")).toContain("skip: no right to read presence");
    expect((await plain.keys("*")).filter((key) => !isRequestKey(key))).toEqual([]);
  });
});

describe("doctor finds each fault of a server:", () => {
  test("a policy that evicts locks", async () => {
    const { server } = await patient.start("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru");
    const { code, faults, of } = await diagnose(server.url);
    expect([code, faults]).toEqual([1, ["eviction fail"]]);
    expect(of("eviction")).toBe("fail: maxmemory-policy is allkeys-lru with maxmemory 100 MB");
  });

  test("a policy that will evict locks once maxmemory is set; and what --strict makes of a warning", async () => {
    const { server } = await patient.start("--maxmemory-policy", "volatile-lru");
    const { faults } = await diagnose(server.url);
    expect(faults).toEqual(["eviction warn"]);
    expect((await diagnose(server.url, ["--strict"])).code).toBe(1);
  });

  test("keys that were evicted before", async () => {
    const { server, plain } = await patient.start(
      "--maxmemory",
      "8mb",
      "--maxmemory-policy",
      "allkeys-random",
    );
    for (let at = 0; at < 20; at += 1) await plain.set(`filler:${at}`, "x".repeat(1_000_000));
    await plain.config("SET", "maxmemory-policy", "noeviction");
    await plain.flushall();
    const { faults, of } = await diagnose(server.url);
    expect(faults).toEqual(["eviction warn"]);
    expect(of("eviction")).toMatch(/\d keys were evicted/);
  });

  test("memory that is nearly full", async () => {
    const { server, plain } = await patient.start();
    for (let at = 0; at < 40; at += 1) await plain.set(`filler:${at}`, "x".repeat(1_000_000));
    const told = await plain.info("memory");
    const [used, buffers] = ["used_memory", "mem_clients_normal"].map((name) =>
      Number(new RegExp(`^${name}:(\\d+)`, "m").exec(told)?.[1]),
    );
    // The server gives up the buffers of the connection that has filled it.
    await plain.config("SET", "maxmemory", String(Math.round(((used ?? 0) - (buffers ?? 0)) * 1.06)));
    const { faults } = await diagnose(server.url);
    expect(faults).toEqual(["memory warn"]);
  });

  test("no persistence", async () => {
    const { server } = await patient.start("--appendonly", "no");
    expect((await diagnose(server.url)).faults).toEqual(["persistence warn"]);
  });

  test.each([
    ["timeout", "30", "warn: timeout is 30: connections that are idle for 30 s are closed"],
    ["tcp-keepalive", "0", "warn: tcp-keepalive is 0"],
    ["client-output-buffer-limit", "pubsub 1024 0 0", "warn: client-output-buffer-limit pubsub is 1 KB"],
  ])("limits that end connections: %s %s", async (name, value, found) => {
    const { server, plain } = await patient.start();
    await plain.config("SET", name, value);
    const { faults, of } = await diagnose(server.url);
    expect([faults, of("limits")]).toEqual([["limits warn"], found]);
  });

  test("nearly as many clients as there may be", async () => {
    const { server } = await patient.start("--maxclients", "30");
    const idle = Array.from({ length: 24 }, () => server.client());
    await Promise.all(idle.map((client) => client.ping()));
    const { faults, of } = await diagnose(server.url);
    expect(faults).toEqual(["limits fail"]);
    expect(of("limits")).toMatch(/fail: 2\d of 30 clients are connected/);
  });

  test("scripts and commands that take long", async () => {
    const { server, plain } = await patient.start(...(isBefore7() ? [] : ["--enable-debug-command", "yes"]));
    await plain.config("SET", "slowlog-log-slower-than", "10000");
    await plain.eval("local n = 0 for i = 1, 2e7 do n = n + i end return n", 1, "order:42");
    await plain.call("DEBUG", "SLEEP", "0.15");
    const found = (await diagnose(server.url)).of("slow");
    expect(found).toMatch(
      /warn: \d scripts? took over 10 ms in the last day, the slowest .*: EVAL on order:42/,
    );
    expect(found).toMatch(
      /warn: \d commands? took over 100 ms in the last day, the slowest .*: DEBUG SLEEP/i,
    );
  });

  test("a long way", async () => {
    const { server } = await patient.start();
    const proxy = await startProxy(server.port);
    patient.stopLater(() => proxy.close());
    proxy.inject(delay(60));
    const url = `redis://127.0.0.1:${proxy.port}`;
    expect((await diagnose(url)).of("reach")).toContain("warn: 20 of 20 answers");
    expect((await diagnose(url, ["--command-timeout", "500ms"])).of("reach")).toContain(
      "fail: 20 of 20 answers",
    );
  });

  test("a replica in the place of the master", async () => {
    const replicated = await startReplicated();
    patient.stopLater(() => replicated.stop());
    const [replica] = replicated.replicas;
    const { code, of } = await diagnose(replica?.url ?? "", ["--command-timeout", "3s"]);
    expect(code).toBe(1);
    expect(of("role")).toContain("fail: a replica of 127.0.0.1:");
    expect(of("rights")).toMatch(/fail: \d+ of 12 trials failed: /);
  });

  test("a master whose replicas need not be there", async () => {
    const replicated = await startReplicated();
    patient.stopLater(() => replicated.stop());
    const { of } = await diagnose(replicated.master.url);
    expect(of("replicas")).toBe("warn: 1 replica, min-replicas-to-write is 0");
    const plain = replicated.master.client();
    await plain.config("SET", "min-replicas-to-write", "1");
    expect((await diagnose(replicated.master.url)).of("replicas")).toBe("ok: 1 replica, none of them behind");
  });

  test("a replica that is behind, and WAIT that is refused", async () => {
    const replicated = await startReplicated();
    patient.stopLater(() => replicated.stop());
    const plain = replicated.master.client();
    const env = await userWith(plain, [...knownRights, "-wait"]);
    await replicated.replicas[0]?.pause();
    await soon("the replica is behind", async () => /lag=[2-9]/.test(await plain.info("replication")));
    const { of } = await diagnose(replicated.master.url, ["--name", "order:42"], env);
    expect(of("replicas")).toMatch(/warn: behind: 127\.0\.0\.1:\d+ by \d+ s/);
    expect(of("replicas")).toContain("warn: WAIT is refused");
    expect(of("rights")).toContain("may not run WAIT");
  });

  test("a Sentinel in the place of a server", async () => {
    const sentinel = await startRedis({ role: "sentinel" });
    patient.stopLater(() => sentinel.stop());
    const { code, of } = await diagnose(sentinel.url);
    expect([code, of("version")]).toEqual([1, "fail: this is a Sentinel, which has no locks"]);
  });
});

describe("doctor", () => {
  test("tells it in lines for people, and ends with a sum", async () => {
    const { server } = await patient.start("--maxmemory-policy", "volatile-lru");
    const { out, err } = await holdfast(["doctor", "--url", server.url]);
    expect(err).toBe("");
    expect(out).toMatch(/^warn {2}eviction {5}maxmemory-policy is volatile-lru with no maxmemory$/m);
    expect(out).toMatch(/^ {19}→ Set maxmemory-policy noeviction/m);
    expect(out).toMatch(/^\d+ of 14 checks are ok, .*1 warning/m);
  });

  test("does not wait for ever for a server that stands still", async () => {
    const silent = createServer().listen(0, "127.0.0.1");
    await once(silent, "listening");
    const address = silent.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const { code } = await holdfast([
      "doctor",
      "--url",
      `redis://127.0.0.1:${port}`,
      "--connect-timeout",
      "300ms",
    ]);
    silent.close();
    expect(code).toBe(69);
  });
});
