import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ClientPresence } from "holdfast";
import { describe, expect, test } from "vitest";
import { documentedRights } from "../../../test/support/servers/documented-rights.js";
import type { Finding } from "../src/doctor/check.js";
import { allChecks } from "../src/doctor/checks/all-checks.js";
import { apart, type ClockSample, faultsOf } from "../src/doctor/checks/clock.js";
import { judgeState, judgeTimeout } from "../src/doctor/checks/cluster.js";
import { judge as judgeFleet } from "../src/doctor/checks/fleet.js";
import { judge as judgeLimits } from "../src/doctor/checks/limits.js";
import { judgeEviction, judgeMemory } from "../src/doctor/checks/memory.js";
import { judgeBoth, judgeOne } from "../src/doctor/checks/messages.js";
import { judge as judgePersistence } from "../src/doctor/checks/persistence.js";
import { judge as judgeReach } from "../src/doctor/checks/reach.js";
import { judgeReplicas, judgeRole } from "../src/doctor/checks/replication.js";
import { judge as judgeSentinels, type SentinelView } from "../src/doctor/checks/sentinel.js";
import { judge as judgeSlow } from "../src/doctor/checks/slow.js";
import { judge as judgeVersion } from "../src/doctor/checks/version.js";
import { docPage } from "../src/doctor/doc-page.js";
import { aclLine, UNKNOWN_TO_6 } from "../src/doctor/rights.js";
import { ofEach, type WritableServer } from "../src/doctor/scene.js";
import { tellResult, tellVerdict, verdictOf } from "../src/doctor/tell-checks.js";
import { Output } from "../src/output.js";
import { holdfast } from "./support/command-line.js";

const root = join(import.meta.dirname, "../../..");
const facts = (of: Readonly<Record<string, string | number>>): ReadonlyMap<string, string> =>
  new Map(Object.entries(of).map(([name, value]) => [name, String(value)]));
const told = (findings: readonly Finding[]) => findings.map(({ level, found }) => `${level}: ${found}`);

describe("the documentation of doctor", () => {
  const sources = readdirSync(join(root, "packages/cli/src/doctor"), { recursive: true, encoding: "utf8" });
  const links = sources
    .filter((file) => file.endsWith(".ts"))
    .flatMap((file) => [
      ...readFileSync(join(root, "packages/cli/src/doctor", file), "utf8").matchAll(/"(docs\/[^"]+)"/g),
    ])
    .map(([, link = ""]) => link);

  test.each([...new Set(links)])("has a heading where %s leads", (link) => {
    const [file = "", anchor] = link.split("#");
    expect(existsSync(join(root, file))).toBe(true);
    const headings = [...readFileSync(join(root, file), "utf8").matchAll(/^#+\s+(.*)$/gm)];
    const anchors = headings.map(([, heading = ""]) =>
      heading
        .trim()
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, "")
        .replace(/\s/g, "-"),
    );
    expect(anchor === undefined || anchors.includes(anchor)).toBe(true);
  });

  test("names each check, and no other, in the order in which they are told", () => {
    const page = readFileSync(join(root, "docs/reference/command-line.md"), "utf8");
    const [, section = ""] = /\n## doctor\n([\s\S]*?)(?:\n## |$)/.exec(page) ?? [];
    const named = [...section.matchAll(/^\| `([a-z]+)` \|/gm)].map(([, id]) => id);
    expect(named).toEqual(allChecks.map(({ id }) => id));
  });

  test("has the ACL line that doctor prints", async () => {
    const { code, out, err } = await holdfast(["doctor", "--acl", "order:*"]);
    const words = aclLine("order:*", "orders", "secret").join(" ").trim().split(/\s+/);
    expect(words).toEqual(["ACL", "SETUSER", "orders", ...documentedRights]);
    expect([code, out.replaceAll(/\s+/g, " ").trim()]).toEqual([
      0,
      aclLine("order:*").join(" ").replaceAll(/\s+/g, " "),
    ]);
    for (const right of UNKNOWN_TO_6) expect(err).toContain(`+${right}`);
  });

  test("has the keys of names with braces of their own", () => {
    expect(aclLine("{order}*")[1]).toBe(
      "  ~{order}* ~redisson_*:{order}* ~holdfast_*:{order}* &redisson_*{order}*",
    );
  });
});

describe("doctor", () => {
  test.each([
    [["--acl", "a b"], "--acl must be a pattern"],
    [["--watchdog", "30"], "--watchdog has no unit"],
    [["--command-timeout", "soon"], "--command-timeout must be a duration"],
    [["--name", ""], "--name must not be empty"],
    [["order:42"], "too many arguments"],
  ])("refuses %j before anything is sent", async (args, says) => {
    const { code, err } = await holdfast(["doctor", "--url", "redis://127.0.0.1:1", ...args]);
    expect(code).toBe(64);
    expect(err).toContain(says);
  });

  test("says that it can not reach a server", async () => {
    expect(
      (await holdfast(["doctor", "--url", "redis://127.0.0.1:1", "--connect-timeout", "500ms"])).code,
    ).toBe(69);
  });
});

describe("what doctor tells", () => {
  const findings: readonly Finding[] = [
    {
      level: "fail",
      found: "it is bad",
      why: "It matters.",
      wanted: "Mend it.",
      doc: "docs/guide/servers.md",
    },
    { level: "ok", found: "\u001b[2Jfine" },
  ];

  /** Its lines on a terminal of so many columns, without colours. */
  function lines(columns: number, tell: (output: Output) => void): string[] {
    let text = "";
    const out = { isTTY: true, columns, write: (more: string) => (text += more) };
    tell(new Output({ out, err: out, env: {} }, { color: false }));
    return text.trimEnd().split("\n");
  }

  test("is a line for each finding, and below it why, what to do, and where to read", () => {
    expect(lines(80, (output) => tellResult(output, { id: "eviction", findings }))).toEqual([
      "FAIL  eviction     it is bad",
      "                   It matters.",
      "                   → Mend it.",
      `                   ${docPage("docs/guide/servers.md")}`,
      "ok    eviction     \\u{1b}[2Jfine",
    ]);
  });

  test("fits the terminal", () => {
    const long = { level: "ok" as const, found: "some words ".repeat(40).trim() };
    const shown = lines(60, (output) => tellResult(output, { id: "reach", findings: [long] }));
    expect(shown.length).toBeGreaterThan(5);
    expect(Math.max(...shown.map(({ length }) => length))).toBeLessThanOrEqual(60);
  });

  test("stands below the name of the check where a terminal is too narrow for both", () => {
    const found = "some words ".repeat(8).trim();
    const shown = lines(40, (output) =>
      tellResult(output, { id: "reach", findings: [{ level: "ok", found }] }),
    );
    expect(shown).toEqual([
      "ok    reach",
      "      some words some words some words",
      "      some words some words some words",
      "      some words some words",
    ]);
  });

  test("ends with a sum, in which a check counts by the worst that it found", () => {
    const results = [
      { id: "a", findings },
      { id: "b", findings: [{ level: "warn" as const, found: "" }] },
      { id: "c", findings: [{ level: "skip" as const, found: "" }] },
      { id: "d", findings: [{ level: "ok" as const, found: "" }] },
      { id: "e", findings: [], moot: "no cluster" },
    ];
    expect(verdictOf(results)).toEqual({ checks: 4, failed: 1, warned: 1, skipped: 1 });
    expect(lines(80, (output) => tellVerdict(output, results))).toEqual([
      "",
      "1 of 4 checks are ok, 1 failed, 1 warning, 1 skipped",
      "skipped: e (no cluster)",
    ]);
  });
});

describe("doctor judges the masters of a cluster", () => {
  const servers = ["a", "b", "c", "d"].map((address) => ({
    address,
  })) as unknown as readonly WritableServer[];
  const judged = async (judge: (address: string) => Finding) =>
    told(await ofEach({ servers }, async ({ address }) => [judge(address)]));
  const well = (found: string): Finding => ({ level: "ok", found });
  const bad = (found: string): Finding => ({ level: "fail", found });

  test("together where they are alike, and by their addresses where they differ", async () => {
    expect(await judged(() => well("fine"))).toEqual(["ok: 4 masters: fine"]);
    expect(await judged((at) => (at < "c" ? well("fine") : bad("bad")))).toEqual([
      "ok: a, b: fine",
      "fail: c, d: bad",
    ]);
  });

  test("by one of them where each is well in its own way, and by all that are not", async () => {
    expect(await judged((at) => well(`fine ${at}`))).toEqual(["ok: 4 masters, such as a: fine a"]);
    expect(await judged((at) => bad(`bad ${at}`))).toEqual([
      "fail: a: bad a",
      "fail: b: bad b",
      "fail: c: bad c",
      "fail: d: bad d",
    ]);
  });
});

describe("doctor judges", () => {
  test.each([
    [{ redis_version: "6.0.16", redis_mode: "standalone" }, "fail: Redis 6.0.16, one server"],
    [{ redis_version: "6.2.14", redis_mode: "standalone" }, "ok: Redis 6.2.14, one server"],
    [{ redis_version: "10.0.0", redis_mode: "cluster" }, "ok: Redis 10.0.0, a node of a cluster"],
    [
      { redis_version: "7.2.4", valkey_version: "7.1.0", server_mode: "standalone" },
      "fail: Valkey 7.1.0, one server",
    ],
    [
      { redis_version: "7.2.4", valkey_version: "9.1.2", server_mode: "standalone" },
      "ok: Valkey 9.1.2, one server",
    ],
    [
      { redis_version: "7.4.0", dragonfly_version: "df-v1.2", redis_mode: "standalone" },
      "warn: Dragonfly df-v1.2, one server",
    ],
    [{ redis_version: "7.0.0", redis_mode: "sentinel" }, "fail: this is a Sentinel, which has no locks"],
  ])("the version: %j", (info, says) => {
    expect(told([judgeVersion(facts(info))])).toEqual([says]);
  });

  test.each([
    [[1, 2, 40], 3_000, "ok"],
    [[1, 2, 60], 3_000, "warn"],
    [[1, 2, 301], 3_000, "fail"],
    [[1, 2, 40], 300, "fail"],
  ])("round trips of %j ms against a time-out of %d ms", (took, commandTimeoutMs, level) => {
    expect(judgeReach(took, { commandTimeoutMs }).level).toBe(level);
  });

  test.each([
    [
      { maxmemory_policy: "noeviction", maxmemory: 0 },
      "ok: maxmemory-policy is noeviction with no maxmemory",
    ],
    [
      { maxmemory_policy: "allkeys-lru", maxmemory: 2 * 1024 ** 3, evicted_keys: 18_204 },
      "fail: maxmemory-policy is allkeys-lru with maxmemory 2 GB; 18,204 keys were evicted since it was started",
    ],
    [
      { maxmemory_policy: "volatile-ttl", maxmemory: 0 },
      "warn: maxmemory-policy is volatile-ttl with no maxmemory",
    ],
  ])("eviction: %j", (info, says) => {
    expect(told(judgeEviction(facts(info)))).toEqual([says]);
  });

  test("a policy for keys with a TTL as one that picks locks", () => {
    const [finding] = judgeEviction(facts({ maxmemory_policy: "volatile-lru", maxmemory: 1 }));
    expect(finding?.why).toContain("locks are such keys");
  });

  test.each([
    [{ used_memory: 90, maxmemory: 100 }, "ok: 90 bytes of 100 bytes in use (90 %)"],
    [{ used_memory: 91, maxmemory: 100 }, "warn: 91 bytes of 100 bytes in use (91 %)"],
  ])("memory: %j", (info, says) => {
    expect(told([judgeMemory(facts(info))])).toEqual([says]);
  });

  test("a replica as no place for locks", () => {
    expect(judgeRole(facts({ role: "slave", master_host: "a", master_port: 1 }))).toMatchObject({
      level: "fail",
      found: "a replica of a:1",
    });
    expect(judgeRole(facts({ role: "master" })).level).toBe("ok");
  });

  test.each([
    [{}, ["ok: none"]],
    [
      { min_slaves_good_slaves: 1, slave0: "ip=a,port=1,state=online,offset=1,lag=1" },
      ["ok: 1 replica, none of them behind"],
    ],
    [
      {
        slave0: "ip=a,port=1,state=online,offset=1,lag=0",
        slave1: "ip=b,port=2,state=wait_bgsave,offset=0,lag=0",
      },
      ["warn: 2 replicas, min-replicas-to-write is 0", "warn: behind: b:2 (wait_bgsave)"],
    ],
    [
      { min_slaves_good_slaves: 1, slave0: "ip=a,port=1,state=online,offset=1,lag=9" },
      ["warn: behind: a:1 by 9 s"],
    ],
  ])("replicas: %j", (info, says) => {
    expect(told(judgeReplicas(facts(info)))).toEqual(says);
  });

  test.each([
    [{ aof_enabled: 1 }, "", ["ok: an append-only file"]],
    [{ aof_enabled: 0 }, "3600 1", ["ok: snapshots: a restart forgets everything after the last one"]],
    [{ aof_enabled: 0 }, "", ["warn: none"]],
    [
      { aof_enabled: 1, aof_last_write_status: "err" },
      "",
      ["warn: the last write to the append-only file failed"],
    ],
    [{ aof_enabled: 0, rdb_last_bgsave_status: "err" }, "3600 1", ["warn: the last snapshot failed"]],
  ])("persistence: %j, save %j", (info, save, says) => {
    expect(told(judgePersistence(facts(info), save))).toEqual(says);
  });

  const limits = { timeout: 0, keepAlive: 300, buffer: 33_554_432, clients: 80, mostClients: 100 };
  test.each([
    [{}, ["ok: 80 of 100 clients, idle connections stay"]],
    [{ clients: 81 }, ["fail: 81 of 100 clients are connected"]],
    [{ timeout: 30 }, ["warn: timeout is 30: connections that are idle for 30 s are closed"]],
    [{ keepAlive: 0 }, ["warn: tcp-keepalive is 0"]],
    [{ buffer: 1_024 }, ["warn: client-output-buffer-limit pubsub is 1 KB"]],
    [{ buffer: 0 }, ["ok: 80 of 100 clients, idle connections stay"]],
  ])("limits: %j", (changed, says) => {
    expect(told(judgeLimits({ ...limits, ...changed }))).toEqual(says);
  });

  const script = ["evalsha", "sha", "1", "order:42"];
  test.each([
    [{ tookMs: 9, agoMs: 0, words: script }, "ok: nothing"],
    [
      { tookMs: 12, agoMs: 60_000, words: script },
      "warn: 1 script took over 10 ms in the last day, the slowest 12 ms: EVALSHA on order:42, 1 min ago",
    ],
    [{ tookMs: 12, agoMs: 100_000_000, words: script }, "ok: nothing"],
    [{ tookMs: 99, agoMs: 0, words: ["KEYS", "*"] }, "ok: nothing"],
    [
      { tookMs: 300, agoMs: 0, words: ["KEYS", "*"] },
      "warn: 1 command took over 100 ms in the last day, the slowest 300 ms: KEYS *, 0 ms ago",
    ],
  ])("slow commands: %j", (entry, says) => {
    expect(told(judgeSlow([entry], facts({})))).toEqual([says]);
  });

  test.each([
    [{ cluster_state: "ok", cluster_slots_assigned: 16_384, cluster_size: 3 }, "ok: all slots are served"],
    [
      { cluster_state: "fail", cluster_slots_assigned: 16_384, cluster_slots_fail: 5_461 },
      "fail: cluster_state is fail, 16384 of 16384 slots are assigned, 5461 of them failing",
    ],
    [
      { cluster_state: "ok", cluster_slots_assigned: 16_000 },
      "fail: cluster_state is ok, 16000 of 16384 slots are assigned",
    ],
  ])("a cluster: %j", (info, says) => {
    expect(told(judgeState(facts(info)))).toEqual([says]);
  });

  test("a cluster that replaces a master too late", () => {
    expect(judgeTimeout(10_000, 30_000)).toEqual([]);
    expect(told(judgeTimeout(15_000, 30_000))).toEqual([
      "warn: cluster-node-timeout is 15000 ms, over a third of the watchdog's 30000 ms",
    ]);
  });

  test("messages of which only one family comes", () => {
    const [came, lost] = [{ tookMs: 1 }, { why: "not within 1000 ms" }];
    expect(judgeOne(came).level).toBe("ok");
    expect(judgeOne(lost).level).toBe("fail");
    expect(judgeBoth(came, came).level).toBe("ok");
    expect(judgeBoth(lost, lost).level).toBe("fail");
    expect(judgeBoth(came, lost)).toMatchObject({
      level: "warn",
      wanted: expect.stringContaining('pubSub: "classic"'),
    });
    expect(judgeBoth(lost, came)).toMatchObject({
      level: "warn",
      wanted: expect.stringContaining('pubSub: "sharded"'),
    });
  });

  const view: SentinelView = {
    address: "s:1",
    others: 2,
    quorum: 2,
    downAfterMs: 5_000,
    master: "m:1",
    noQuorum: "",
  };
  test.each([
    [[view, view, view], [], []],
    [[{ ...view, others: 1 }], [], ["warn: 2 Sentinels"]],
    [[{ ...view, quorum: 1 }], [], ["warn: the quorum is 1"]],
    [[{ ...view, noQuorum: "NOQUORUM 1 usable" }], [], ["warn: s:1: NOQUORUM 1 usable"]],
    [
      [view, { ...view, address: "s:2", master: "m:2" }],
      [],
      ["warn: they name different masters: s:1 names m:1, s:2 names m:2"],
    ],
    [
      [{ ...view, downAfterMs: 15_000 }],
      [],
      ["warn: down-after-milliseconds is 15000, over a third of the watchdog's 30000 ms (s:1)"],
    ],
    [[view], [{ address: "s:3", why: "refused" }], ["warn: no answer of s:3 (refused)"]],
  ])("Sentinels: %j", (views, silent, says) => {
    expect(told(judgeSentinels(views, silent, 30_000).filter(({ level }) => level !== "ok"))).toEqual(says);
  });

  test("a fleet of several versions, and one of which some are gone", () => {
    const client = (told: Partial<ClientPresence>): ClientPresence => ({
      id: "",
      state: "there",
      lastSeenMs: 40_000,
      everyMs: 5_000,
      app: "api",
      host: "web-7",
      pid: 7,
      startedMs: 0,
      lib: "holdfast 0.1.0",
      runtime: "node",
      labels: {},
      holds: [],
      waits: [],
      stats: [],
      lost: [],
      acquired: 0,
      more: { holds: 0, waits: 0, stats: 0 },
      ...told,
    });
    const judged = (clients: readonly ClientPresence[], presenceIsUnwell = false) =>
      told(judgeFleet({ fleet: { atMs: 0, group: "default", clients, truncated: false }, presenceIsUnwell }));
    expect(judged([])).toEqual(['ok: no client of the group "default" has presence']);
    expect(judged([client({})])).toEqual(['ok: 1 client in the group "default", all with holdfast 0.1.0']);
    expect(judged([client({}), client({ lib: "holdfast 0.2.0" })])).toEqual([
      "warn: 2 versions at once: 1 with holdfast 0.1.0, 1 with holdfast 0.2.0",
    ]);
    expect(judged([client({}), client({ state: "gone" })])).toEqual([
      "warn: 1 of 2 clients are gone: api@web-7 pid 7 40 s ago",
    ]);
    expect(judged([client({ state: "gone" }), client({ state: "gone" })], true)).toEqual([
      "warn: 2 of 2 clients fell silent at once",
    ]);
  });
});

describe("doctor judges a clock", () => {
  /** Five looks, 400 ms apart, each under way for 2 ms. @param serverMs what the server's clock shows so long after the first */
  function samples(serverMs: (afterMs: number) => number): ClockSample[] {
    return [0, 400, 800, 1_200, 1_600].map((afterMs) => ({
      sentMs: 60_000 + afterMs,
      answeredMs: 60_002 + afterMs,
      serverMs: 1_795_132_800_000 + serverMs(afterMs),
      wallMs: 1_795_132_800_000 + afterMs,
    }));
  }

  test.each([
    ["one that runs evenly", (ms: number) => ms + 1, []],
    ["one that runs evenly, an hour ahead", (ms: number) => ms + 3_600_000, []],
    ["one that drifts by what a round trip may hide", (ms: number) => ms * 1.001, []],
    ["one that runs fast", (ms: number) => ms * 1.02, ["fail: the clock runs 1.9 % too fast"]],
    ["one that runs slowly", (ms: number) => ms * 0.9, ["fail: the clock runs 9.9 % too slow"]],
    [
      "one that is set forward",
      (ms: number) => (ms > 1_000 ? ms + 5_000 : ms),
      ["fail: the clock was set forward by 4998 ms within 400 ms"],
    ],
    [
      "one that is set back",
      (ms: number) => (ms > 500 ? ms - 2_000 : ms),
      ["fail: the clock was set back by 1998 ms within 400 ms"],
    ],
  ])("%s", (_, serverMs, says) => {
    expect(told(faultsOf(samples(serverMs)))).toEqual(says);
  });

  test("no step where an answer was under way for long", () => {
    const [first, ...others] = samples((ms) => ms);
    const late = others.map((sample) => ({
      ...sample,
      answeredMs: sample.answeredMs + 3_000,
      serverMs: sample.serverMs + 2_500,
    }));
    expect(faultsOf(first === undefined ? [] : [first, ...late])).toEqual([]);
  });

  test("masters whose clocks are apart", () => {
    expect(told(apart([samples((ms) => ms), samples((ms) => ms + 400)]))).toEqual([]);
    expect(told(apart([samples((ms) => ms), samples((ms) => ms + 700)]))).toEqual([
      "warn: the clocks of the masters are 700 ms apart",
    ]);
  });
});

test("a page of the documents is named where the package has it, and else as what it is [U10]", () => {
  const root = join(import.meta.dirname, "..", "..", "..");
  const path = join(root, "docs/guide/servers.md");
  expect(docPage("docs/guide/servers.md#managed-services", root)).toBe(`${path}#managed-services`);
  const page = docPage("docs/guide/servers.md", join(root, "test"));
  expect(page).toBe("docs/guide/servers.md in the source of holdfast");
});

test("a round trip is never told to take less than nothing", () => {
  expect(judgeReach([-0.04, -0.01], { commandTimeoutMs: 3_000 }).found).toContain("within 0.0 ms");
});
