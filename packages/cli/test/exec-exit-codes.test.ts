import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { until } from "../../../test/support/run/until.js";
import { locksOnRedis } from "../../../test/support/servers/locks-on-redis.js";
import { holdfast } from "./support/command-line.js";
import type { Entry } from "./support/diagnosis.js";
import { execRuns } from "./support/exec-runs.js";

const here = locksOnRedis();
const start = execRuns(() => here.server.url);
const folder = mkdtempSync(join(tmpdir(), "holdfast-exec-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("the exit code is", () => {
  it.each<[string, readonly string[], number]>([
    ["that of the command: 0", ["a", "--", "true"], 0],
    ["that of the command: 7", ["a", "--", "sh", "-c", "exit 7"], 7],
    ["that of the command: 255", ["a", "--", "sh", "-c", "exit 255"], 255],
    ["that of the command: 75, which is a conflict's as well", ["a", "--", "sh", "-c", "exit 75"], 75],
    ["that of a shell", ["a", "--shell", "--", "true && exit 9"], 9],
    [
      "that of a command that dies with its parent",
      ["a", "--die-with-parent", "--", "sh", "-c", "exit 8"],
      8,
    ],
    ["137: the command was ended by SIGKILL", ["a", "--", "sh", "-c", "kill -9 $$"], 137],
    ["143: the command was ended by SIGTERM", ["a", "--", "sh", "-c", "kill $$"], 143],
    ["127: there is no such command", ["a", "--", "no-such-command-at-all"], 127],
    ["127: the same with --die-with-parent", ["a", "--die-with-parent", "--", "no-such-command-at-all"], 127],
    ["126: it can not be executed", ["a", "--", "/etc/passwd"], 126],
    ["126: the same with --die-with-parent", ["a", "--die-with-parent", "--", "/etc/passwd"], 126],
    ["126: what is on its path is no folder", ["a", "--", "/etc/passwd/x"], 126],
    ["64: the command line is wrong", ["a", "--ttl", "1s", "--", "true"], 64],
    ["64: the name is too long, or empty", ["", "--", "true"], 64],
    ["64: in a lock that the command has", ["held", "--", "true"], 64],
    ["0: the same when it is nested in another", ["other", "--", "true"], 0],
    ["65: the key has a value of another type", ["list", "--", "true"], 65],
    ["69: Redis can not be reached", ["a", "--url", "redis://127.0.0.1:1", "--", "true"], 69],
    ["75: taken, and it does not wait", ["taken", "-n", "--", "echo", "started"], 75],
    ["0: taken, and it is skipped", ["taken", "--on-busy", "skip", "--", "echo", "started"], 0],
    ["75: taken, and that is an error", ["taken", "--on-busy", "throw", "--", "echo", "started"], 75],
    ["64: it waits, and does not", ["a", "--on-busy", "skip", "--wait", "1s", "--", "true"], 64],
    ["75: taken for longer than it waits", ["taken", "--wait", "50ms", "--", "echo", "started"], 75],
    ["what -E says, where it is taken", ["taken", "-n", "-E", "0", "--", "echo", "started"], 0],
    ["76: its time is over", ["a", "--max-hold", "5s", "--kill-after", "0s", "--", "sleep", "60"], 76],
    [
      "what --lost-exit-code says",
      ["a", "--lease", "5s", "--lost-exit-code", "9", "--kill-after", "0s", "--", "sleep", "60"],
      9,
    ],
  ])("%s", async (_, args, code) => {
    await here.plain.rpush("list", "x");
    await here.plain.hset("taken", "c:1", "1");
    const run = start(["exec", ...args], { env: { HOLDFAST_HELD: "held" } });
    expect(await run.exited).toBe(code);
    expect(run.out).toBe("");
    expect(await here.plain.exists("a")).toBe(0);
    expect(run.below()).toEqual([]);
    await here.plain.del("list", "taken");
  });

  it("77: the user lacks a right; what the message says to type gives the ACL line, and with it the command runs", async () => {
    await here.plain.acl("SETUSER", "poor", "on", ">secret", "~*", "&*", "+ping", "+info", "+client");
    const env = { HOLDFAST_PASSWORD: "secret" };
    const args = ["exec", "a", "--user", "poor", "--", "echo", "started"];
    const refused = start(args, { env });
    expect([await refused.exited, refused.out]).toEqual([77, ""]);
    expect(refused.err).toContain("NOPERM");
    expect(refused.err).not.toContain("secret");
    const [, advice = ""] =
      /\n(?:holdfast: )?(holdfast doctor .*) lists the missing rights/.exec(refused.err) ?? [];
    expect(advice).toBe("holdfast doctor --name a --user poor");
    const asked = [...advice.split(" ").slice(1), "--json"];
    const doctor = await holdfast(asked, { env: { ...env, HOLDFAST_URL: here.server.url } });
    const { checks } = JSON.parse(doctor.out) as { readonly checks: readonly Entry[] };
    const { wanted } = checks.find(({ id, level }) => id === "rights" && level === "fail") ?? {};
    expect(wanted).toMatch(/^ACL SETUSER poor \+\w+ /);
    await here.plain.acl("SETUSER", "poor", ...(wanted ?? "").split(" ").slice(3));
    const run = start(args, { env });
    expect([await run.exited, run.out]).toEqual([0, "started\n"]);
    await here.plain.acl("DELUSER", "poor");
  });
});

describe("the lock", () => {
  it("is held while the command runs, with its name, holder and token in the environment, and free afterwards", async () => {
    const script =
      'echo "$HOLDFAST_LOCK_NAME $HOLDFAST_LOCK_HOLDER $HOLDFAST_LOCK_TOKEN $HOLDFAST_HELD"; read line';
    const run = start(["exec", "job", "--kind", "fenced", "--prefix", "x:", "--", "sh", "-c", script], {
      stdin: "pipe",
    });
    await run.says("\n");
    const [name, holder, token, held] = run.out.trimEnd().split(" ");
    expect({ name, token, held }).toEqual({ name: "job", token: "1", held: "x:job" });
    expect(Object.keys(await here.plain.hgetall("x:job"))).toEqual([holder]);
    run.process.stdin?.end("go\n");
    expect(await run.exited).toBe(0);
    expect(await here.plain.exists("x:job")).toBe(0);
    await here.plain.flushall();
  });

  it.each(["lock", "fair", "fenced", "write"])(
    "of the kind %s is waited for, and had when it is free",
    async (kind) => {
      const lock = here.holdfast().getFairLock("job");
      const lease = await lock.lock();
      const run = start(["exec", "job", "--kind", kind, "--report-every", "100ms", "--", "echo", "started"]);
      await run.complains('waiting for "job": held by');
      expect(run.out).toBe("");
      await lease.unlock();
      expect(await run.exited).toBe(0);
      expect(run.out).toBe("started\n");
      await here.plain.flushall();
    },
  );

  it("lets several read, and one write", async () => {
    const reading = start(["exec", "job", "--kind", "read", "--", "sh", "-c", "echo one; read line"], {
      stdin: "pipe",
    });
    await reading.says("one");
    expect(await start(["exec", "job", "--kind", "read", "-n", "--", "true"]).exited).toBe(0);
    expect(await start(["exec", "job", "--kind", "write", "-n", "--", "true"]).exited).toBe(75);
    reading.process.stdin?.end("\n");
    expect(await reading.exited).toBe(0);
  });

  it.each([
    ["lock", "kept in Redis, so that the command line need not wait"],
    ["fenced", "the same"],
  ])("stays taken for --at-least: %s, %s", async (kind) => {
    const run = start(["exec", "job", "--kind", kind, "--at-least", "1m", "--", "true"]);
    expect(await run.exited).toBe(0);
    expect(await here.plain.pttl("job")).toBeGreaterThan(50_000);
    expect(await start(["exec", "job", "-n", "-E", "0", "--", "echo", "twice"]).exited).toBe(0);
    await here.plain.flushall();
  });

  it("of a kind that can not be kept is held for --at-least; a signal ends that, and leaves it to its lease", async () => {
    const run = start(["exec", "job", "--kind", "fair", "--at-least", "1h", "--", "echo", "done"]);
    await run.says("done");
    await until(() => run.below().length === 0);
    run.signal("SIGTERM");
    await run.complains("the lock ends with its lease");
    expect(await run.exited).toBe(0);
    expect(await here.plain.exists("job")).toBe(1);
    await here.plain.flushall();
  });
});

describe("--report", () => {
  const file = join(folder, "report.json");
  const reportOf = async (args: readonly string[], code: number) => {
    writeFileSync(file, "what was there before\n");
    const run = start(["exec", "job", "--report", file, ...args]);
    expect(await run.exited).toBe(code);
    const text = readFileSync(file, "utf8");
    expect(text.split("\n")).toHaveLength(2);
    return JSON.parse(text);
  };

  it("tells of a command that has ended", async () => {
    const report = await reportOf(["--kind", "fenced", "--", "sh", "-c", "exit 3"], 3);
    expect(report).toEqual({
      outcome: "exited",
      exitCode: 3,
      name: "job",
      holder: expect.stringMatching(/^[0-9a-f-]{36}:\d+$/),
      token: "1",
      waitedMs: expect.any(Number),
      heldMs: expect.any(Number),
      child: { code: 3, signal: null },
      reason: null,
    });
    await here.plain.flushall();
  });

  const nothingHeld = { name: "job", holder: null, token: null, heldMs: null, child: null };
  it("tells a conflict from a command that ended with its code [X4]", async () => {
    await here.plain.hset("job", "c:1", "1");
    const report = await reportOf(["-n", "--", "true"], 75);
    expect(report).toMatchObject({ ...nothingHeld, outcome: "conflict", exitCode: 75, reason: null });
    await here.plain.del("job");
  });

  it("tells of a command that was not found, and of a Redis that can not be reached", async () => {
    expect(await reportOf(["--", "no-such-command-at-all"], 127)).toMatchObject({
      outcome: "not-started",
      exitCode: 127,
      child: null,
      reason: "no-such-command-at-all: command not found",
    });
    expect(await reportOf(["--url", "redis://127.0.0.1:1", "--", "true"], 69)).toMatchObject({
      ...nothingHeld,
      outcome: "failed",
      exitCode: 69,
    });
  });

  it("tells of a command that was stopped", async () => {
    const report = await reportOf(
      ["--max-hold", "5s", "--", "sh", "-c", "trap 'exit 5' TERM; sleep 60 & wait"],
      76,
    );
    expect(report).toMatchObject({
      outcome: "lost",
      exitCode: 76,
      child: { code: 5, signal: null },
      reason: "max-hold-ends",
    });
  });
});
