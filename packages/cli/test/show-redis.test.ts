import { afterEach, describe, expect, test } from "vitest";
import { locksOnRedis } from "../../../test/support/servers/locks-on-redis.js";
import { JVM } from "../../../test/support/worlds/listed.js";
import { holdfast as commandLine, type Written } from "./support/command-line.js";
import { clientId, storeClient } from "./support/presence.js";
import { misfits } from "./support/schemas.js";

const redis = locksOnRedis();
const HOUR_MS = 3_600_000;

afterEach(() => redis.plain.flushall());

function show(...args: readonly string[]): Promise<Written> {
  return commandLine(["show", ...args], { env: { HOLDFAST_URL: redis.server.url } });
}

/** A fair lock of a JVM, with a queue of a client that tells of itself and of one that does not. */
async function storeFair(): Promise<void> {
  await redis.plain.hset("report", `${JVM}:57`, "2");
  await redis.plain.pexpire("report", HOUR_MS);
  await redis.plain.rpush("redisson_lock_queue:{report}", `${clientId(1)}:9`, `${JVM}:58`);
  await redis.plain.zadd(
    "redisson_lock_timeout:{report}",
    Date.now() + HOUR_MS,
    `${clientId(1)}:9`,
    Date.now() + HOUR_MS,
    `${JVM}:58`,
  );
  await storeClient(redis.plain, { id: clientId(1), app: "api", waits: [["report", "fair-lock", 12_000]] });
}

describe("holdfast show", () => {
  test("tells all that is known about a lock, and how to free it", async () => {
    await storeFair();
    const { code, lines } = await show("report");
    expect(code).toBe(0);
    expect(lines.map((line) => line.trim())).toEqual([
      "report · fair · held",
      `held by   JVM ${JVM.slice(0, 4)}…:57, 2 times`,
      `${JVM}:57`,
      "lease     59 min left",
      expect.stringMatching(/^waiting {3}1\. api@web-7 pid 7, for \d+ s$/),
      `2. JVM ${JVM.slice(0, 4)}…:58`,
      "hint      a JVM has it: look in its log for Redisson's id, the part before the colon",
      `free it   holdfast unlock report --holder ${JVM}:57`,
    ]);
  });

  test("tells the clients that wait for a plain lock with their places, and their other calls", async () => {
    await redis.plain.hset("a", `${JVM}:57`, "1");
    await redis.plain.pexpire("a", HOUR_MS);
    await redis.plain.zadd("holdfast_waiting:{a}", 7, clientId(1), 8, clientId(2), -1, clientId(3));
    await storeClient(redis.plain, {
      id: clientId(1),
      app: "api",
      waits: [
        ["a", "lock", 12_000],
        ["a", "lock", 2_000],
      ],
    });
    const { lines } = await show("a");
    expect(lines.map((line) => line.trim())).toEqual([
      "a · lock · held",
      `held by   JVM ${JVM.slice(0, 4)}…:57`,
      `${JVM}:57`,
      "lease     59 min left",
      expect.stringMatching(/^waiting {3}1\. api@web-7 pid 7, for 1\d s$/),
      `2. unknown ${clientId(2).slice(0, 4)}…`,
      expect.stringMatching(/^api@web-7 pid 7, for \d s$/),
      "hint      a JVM has it: look in its log for Redisson's id, the part before the colon",
      `free it   holdfast unlock a --holder ${JVM}:57`,
    ]);
  });

  test("tells the clients that wait for permits with their places, those without presence as well", async () => {
    const [api, silent] = [clientId(1), `5e1c${clientId(1).slice(4)}`];
    await redis.plain.set("pool", "0");
    await redis.plain.zadd("holdfast_waiting:{pool}", 1, `${api}:2`, 2, `${silent}:1`, 3, `${api}:1`);
    await redis.plain.zadd("holdfast_waiting:{pool}", -Date.now(), `told:${api}:2`);
    expect((await show("pool")).lines.map((line) => line.trim())).toEqual([
      "pool · semaphore · 0 available",
      "permits   0 available; Redis does not store the total",
      `waiting   1. unknown ${api.slice(0, 4)}…`,
      `2. unknown ${silent.slice(0, 4)}…`,
      `3. unknown ${api.slice(0, 4)}…`,
    ]);
    const wait = (ageMs: number) => ["pool", "semaphore", ageMs] as const;
    await storeClient(redis.plain, { id: api, app: "api", waits: [wait(12_000), wait(2_000)] });
    expect((await show("pool")).lines.slice(2).map((line) => line.trim())).toEqual([
      expect.stringMatching(/^waiting {3}1\. api@web-7 pid 7, for 1\d s$/),
      `2. unknown ${silent.slice(0, 4)}…`,
      expect.stringMatching(/^3\. api@web-7 pid 7, for \d s$/),
    ]);
    const { lines } = await show("--json", "pool");
    expect(misfits("shown-lock", lines)).toEqual([]);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({
      waiting: [api, silent, api].map((holder) => ({ holder })),
    });
  });

  test("tells holders with age, note and labels, and points to --stale where they are gone", async () => {
    await redis.plain.hset("a", `${clientId(1)}:1`, "1");
    await redis.plain.pexpire("a", HOUR_MS);
    await storeClient(redis.plain, {
      id: clientId(1),
      app: "jobs",
      labels: { region: "eu" },
      holds: [["a", "lock", 1, 1, 60_000, 0, "invoice 42"]],
      agoMs: 150_000,
    });
    const { out } = await show("a");
    expect(out).toContain('jobs@web-7 pid 7 (gone 2 min), for 3 min, a fixed lease, "invoice 42"');
    expect(out).toContain(`${clientId(1)}:1  region=eu`);
    expect(out).toContain("59 min left, then it ends by itself");
    expect(out).toMatch(/this shows whether the lock is still renewed:\n +holdfast ls a --stale\n/);
  });

  test("has no line that frees what no lock has made", async () => {
    await redis.plain.hset("config", "colour", "red");
    const { out } = await show("config");
    expect(out).toContain("its key does not hold a lock: another program wrote it");
    expect(out).not.toContain("free it");
  });

  test("tells permits and counts by what they are", async () => {
    const { holdfast } = redis.connect();
    await holdfast.getSemaphore("pool").trySetPermits(5);
    await holdfast.getPermitExpirableSemaphore("slots").trySetPermits(3);
    await holdfast.getPermitExpirableSemaphore("slots").acquire({ leaseMs: HOUR_MS });
    await holdfast.getCountDownLatch("start").trySetCount(2);
    const { lines } = await show("pool", "slots");
    expect(lines).toContain("pool · semaphore or latch · 5 available");
    expect(lines).toContain("slots · permits · 2 of 3 available");
    expect(lines.join("\n")).toMatch(
      /2 of 3 available, 1 taken\n\s+[0-9a-f]{32} {2}returns in 59 min, client unknown/,
    );
    expect((await show("start", "--kind", "latch")).out).toContain("start · latch · 2 to count down");
    expect((await show("pool", "--kind", "semaphore")).out).toContain("pool · semaphore · 5 available");
    expect((await show("slots", "--kind", "latch")).code).toBe(65);
  });

  test("writes an object in a line that fits its schema, and the line that frees the lock", async () => {
    await storeFair();
    const { holdfast } = redis.connect();
    await holdfast.getSemaphore("pool").trySetPermits(5);
    await holdfast.getPermitExpirableSemaphore("slots").trySetPermits(3);
    await holdfast.getPermitExpirableSemaphore("slots").acquire({ leaseMs: HOUR_MS });
    await holdfast.getFencedLock("fenced").using({ leaseMs: HOUR_MS }, async () => undefined);
    const lease = await holdfast.getLock("kept").lock({ leaseMs: HOUR_MS });
    await lease.unlock({ keepForMs: HOUR_MS });
    const { lines } = await show("report", "pool", "slots", "fenced", "kept", "free", "--json");
    expect(misfits("shown-lock", lines)).toEqual([]);
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { name: "report", kind: "fair-lock", unlock: `holdfast unlock report --holder ${JVM}:57` },
      { name: "pool", kind: "semaphore-or-latch", available: 5, unlock: null },
      { name: "slots", kind: "permit-expirable-semaphore", available: 2, takenCount: 1 },
      { name: "fenced", kind: "none", token: "1" },
      { name: "kept", kept: true },
      { name: "free", kind: "none", holders: [], unlock: null },
    ]);
  });

  test("answers with its exit code", async () => {
    await storeFair();
    await redis.plain.set("text", "no number");
    await redis.plain.lpush("list", "x");
    const codes = async (...args: readonly string[]) => (await show(...args)).code;
    expect(await codes("free")).toBe(0);
    expect(await codes("free", "--exit-code")).toBe(1);
    expect(await codes("report", "--exit-code")).toBe(0);
    expect(await codes("report", "free", "--exit-code")).toBe(1);
    expect(await codes("list")).toBe(65);
    expect(await codes("")).toBe(64);
  });

  test("tells calls of one program that wait for the same in one line, with their note [U12]", async () => {
    await redis.plain.hset("busy", `${JVM}:1`, "1");
    const waits = Array.from({ length: 10 }, (_, at) => ["busy", "lock", 3_000 + at, "nightly"]);
    const other = ["busy", "lock", 1_000];
    await storeClient(redis.plain, { id: clientId(5), app: "jobs", waits: [...waits, other] });
    const { out } = await show("busy");
    expect(out).toMatch(
      /waiting +jobs@web-7 pid 7, 10 calls, for 3 s, "nightly"\n +jobs@web-7 pid 7, for 1 s\n/,
    );
  });

  test("shows a lock whose fencing counter is no number, and the line that frees it [P13]", async () => {
    await redis.plain.hset("fenced", `${JVM}:1`, "1");
    await redis.plain.set("redisson_lock_token:{fenced}", "1e3");
    const { code, out } = await show("fenced");
    expect(code).toBe(0);
    expect(out).toContain('token     none: another program wrote "1e3" to its counter');
    expect(out).toContain("holdfast unlock fenced --holder");
    expect((await show("fenced", "--json")).lines.flatMap((line) => misfits("shown-lock", [line]))).toEqual(
      [],
    );
    const freed = await commandLine(["unlock", "fenced", "--holder", `${JVM}:1`, "--url", redis.server.url]);
    expect([freed.code, await redis.plain.exists("fenced")]).toEqual([0, 0]);
  });

  test("shows names of strangers without what they hide", async () => {
    const name = "a\u001b[2J\u202eb";
    await redis.plain.hset(name, `${JVM}:1`, "1");
    const { out } = await show(name);
    expect(out).toContain("a\\u{1b}[2J\\u{202e}b · lock · held");
    expect(out).toContain(`holdfast unlock ${Buffer.from(name).toString("hex")} --hex --holder`);
    expect(out).toContain("no end: its key has no TTL");
    expect([...out].filter((character) => "\u001b\u202e".includes(character))).toEqual([]);
  });

  test("does without presence where the user may not read it", async () => {
    await storeFair();
    const keys = ["~report", "~{report}*", "~redisson_*:{report}*", "~holdfast_*:{report}*"];
    await redis.plain.acl("SETUSER", "small", "reset", "on", ">geheim", ...keys, "&*", "+@all");
    const env = { HOLDFAST_URL: redis.server.url, HOLDFAST_USER: "small", HOLDFAST_PASSWORD: "geheim" };
    const { code, out, err } = await commandLine(["show", "report"], { env });
    expect(code).toBe(0);
    expect(out).toContain(`1. unknown ${clientId(1).slice(0, 4)}…:9`);
    expect(err).toContain("presence was not asked");
    await redis.plain.acl("DELUSER", "small");
  });
});
