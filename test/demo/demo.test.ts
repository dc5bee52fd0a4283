import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RedisServer, startRedis } from "../support/servers/redis-server.js";
import { type DemoRun, runDemo } from "./run-demo.js";

const IN_TIME_MS = 60_000;
const SCENES = 13;
const CHECKS = 43;

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

function checkPlayed({ stdout, stderr, exitCode, tookMs, leftProcesses }: DemoRun): void {
  expect(stdout).not.toContain("✗");
  expect({ stderr, exitCode, leftProcesses }).toEqual({ stderr: "", exitCode: 0, leftProcesses: false });
  expect(tookMs).toBeLessThan(IN_TIME_MS);
  for (let scene = 1; scene <= SCENES; scene += 1) {
    expect(stdout).toContain(`━━ ${scene} of ${SCENES} `);
    expect(stdout).toMatch(new RegExp(`^ {2}✓ +${scene} {2}`, "m"));
  }
  const [, holding, checks, scenes] = /✓ (\d+) of (\d+) checks in (\d+) scenes were true/.exec(stdout) ?? [];
  expect(holding).toBe(checks);
  expect(Number(checks)).toBe(CHECKS);
  expect(Number(scenes)).toBe(SCENES);
  expect(stdout).toContain("ERR_HOLDFAST_NOT_HELD: lock");
  expect(stdout).toMatch(/✓\s+process\s+\d+\s+was\s+ended\s+by\s+SIGKILL/);
  for (const place of ["README.md", "docs/guide/"]) expect(stdout).toContain(place);
  // Neither colours nor cursor movements where nobody looks at a terminal.
  expect(stdout).not.toContain("\u001b");
  expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
}

describe.concurrent("demo", { timeout: 2 * IN_TIME_MS }, () => {
  it("plays all scenes on the embedded server", async () => {
    const run = await runDemo([]);
    checkPlayed(run);
    expect(run.stdout).toContain("in-process stand-in");
    expect(run.stdout).toContain("coordinates one process only");
  });

  it("plays all scenes on a real server, kills a process, and removes what it made", async () => {
    const client = server.client();
    await client.set("of somebody else", "untouched");
    const run = await runDemo(["--redis", server.url]);
    checkPlayed(run);
    expect(new Set(run.stdout.match(/is\s+process\s+\d+/g)).size).toBe(4);
    expect(await client.keys("*")).toEqual(["of somebody else"]);
    expect(await client.get("of somebody else")).toBe("untouched");
    expect(await client.client("LIST")).toMatch(/^[^\n]*\n$/);
  });

  it("shows a fleet at work on a page, behind a token, until Ctrl-C", async () => {
    const run = await runDemo(["--inspect"], { interruptAt: "Ctrl-C ends it." });
    expect(run).toMatchObject({ exitCode: 130, stderr: "", leftProcesses: false });
    expect(run.stdout).toMatch(/ http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]{43}\n/);
  });

  it.each([
    { onRedis: false, args: [], interruptAt: "enters" },
    { onRedis: true, args: [], interruptAt: "enters" },
    { onRedis: false, args: ["--scene", "frozen"], interruptAt: "kill -STOP" },
    { onRedis: true, args: ["--scene", "frozen", "--scene", "semaphore"], interruptAt: "asks for a permit" },
  ])("tidies up on Ctrl-C: %j", async ({ onRedis, args, interruptAt }) => {
    const other = await startRedis();
    const run = await runDemo([...args, ...(onRedis ? ["--redis", other.url] : [])], { interruptAt });
    const keys = await other.client().keys("*");
    await other.stop();
    expect(run).toMatchObject({ exitCode: 130, stderr: "", leftProcesses: false });
    expect(run.stdout).toMatch(/━━ 1 of \d+ /);
    expect(run.stdout).not.toMatch(/━━ 2 of \d+ |What was measured/);
    expect(keys).toEqual([]);
  });

  it("plays the scenes that were chosen, in their order, and pauses as long as it was told", async () => {
    const run = await runDemo(["--scene", "siblings", "--scene=re-entry", "--pause", "700"]);
    expect(run).toMatchObject({ exitCode: 0, stderr: "", leftProcesses: false });
    expect(run.stdout.match(/━━ \d of \d {2}[^━]+[a-z]/g)).toEqual([
      "━━ 1 of 2  Entering again",
      "━━ 2 of 2  Siblings of a Promise.all",
    ]);
    const [, seconds] = /checks in 2 scenes were true, after (\d+\.\d+) s/.exec(run.stdout) ?? [];
    const quick = await runDemo(["--scene", "siblings", "--scene", "re-entry"]);
    const [, quickSeconds] = /checks in 2 scenes were true, after (\d+\.\d+) s/.exec(quick.stdout) ?? [];
    // Two introductions, two results, and once between the scenes; the scenes themselves are never as quick as nothing.
    expect(Number(seconds)).toBeGreaterThan(3.5);
    expect(Number(quickSeconds)).toBeLessThan(Number(seconds));
  });

  it("lists its scenes by the names that --scene takes", async () => {
    const { exitCode, stdout } = await runDemo(["--scenes"]);
    expect(exitCode).toBe(0);
    expect(stdout.match(/^ {2}\S+/gm)).toHaveLength(SCENES);
    expect(stdout).toMatch(/^ {2}killed +kill -9 to the holder$/m);
  });

  it.each([
    [["--scene", "kiled"], 2, 'there is no scene "kiled": choose among killed, '],
    [["--scene"], 2, "--scene needs a name"],
    [["--pause", "1s"], 2, "--pause needs whole milliseconds"],
    [["--pause", "60001"], 2, "60000 at most"],
    [["--inspect", "--scene", "killed"], 2, "leave out --scene"],
    [["--redis"], 2, "--redis needs a URL"],
    [["--redis", "127.0.0.1"], 2, "--redis needs a URL"],
    [["--redis", "http://127.0.0.1"], 2, "redis:// or rediss://"],
    [["redis://:secret@127.0.0.1"], 2, "two dashes"],
    [["--fast"], 2, "--help"],
    [["--redis", "redis://user:secret@127.0.0.1:1"], 1, "redis://127.0.0.1:1: connect ECONNREFUSED"],
  ])("says in one line what is wrong with %j", async (args, exitCode, text) => {
    const run = await runDemo(args);
    expect(run).toMatchObject({ exitCode, stdout: "", leftProcesses: false });
    expect(run.stderr).toMatch(/^demo: [^\n]+\n$/);
    expect(run.stderr).toContain(text);
    expect(run.stderr).not.toContain("secret");
  });

  it("refuses a server that it may not use as it was told", async () => {
    for (const url of [`${server.url}/99`, server.url.replace("127.0.0.1", "nobody:wrong@127.0.0.1")]) {
      const run = await runDemo(["--redis", url]);
      expect(run).toMatchObject({ exitCode: 1, stdout: "" });
      expect(run.stderr).toMatch(/^demo: cannot use [^\n]+\n$/);
    }
  });

  it("explains itself", async () => {
    const run = await runDemo(["--help"]);
    expect(run).toMatchObject({ exitCode: 0, stderr: "" });
    expect(run.stdout).toContain("npm run demo -- --redis redis://127.0.0.1:6379");
  });
});
