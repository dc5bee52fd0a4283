import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RedisServer, startRedis } from "../support/servers/redis-server.js";
import { type DemoRun, runDemo } from "./run-demo.js";

const IN_TIME_MS = 60_000;
const SCENES = 10;

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
  expect(Number(checks)).toBeGreaterThanOrEqual(2 * SCENES);
  expect(Number(scenes)).toBe(SCENES);
  expect(stdout).toContain("ERR_HOLDFAST_NOT_HELD: lock");
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
    expect(run.stdout).toMatch(/process\s+\d+\s+was\s+ended\s+by\s+SIGKILL/);
    expect(await client.keys("*")).toEqual(["of somebody else"]);
    expect(await client.get("of somebody else")).toBe("untouched");
    expect(await client.client("LIST")).toMatch(/^[^\n]*\n$/);
  });

  it("shows a fleet at work on a page, behind a token, until Ctrl-C", async () => {
    const run = await runDemo(["--inspect"], { interruptAt: "Ctrl-C ends it." });
    expect(run).toMatchObject({ exitCode: 130, stderr: "", leftProcesses: false });
    expect(run.stdout).toMatch(/ http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]{43}\n/);
  });

  it.each([[[]], [["--redis"]]])("tidies up on Ctrl-C: %j", async (flags) => {
    const other = await startRedis();
    const args = flags.length === 0 ? [] : [...flags, other.url];
    const run = await runDemo(args, { interruptAt: "enters" });
    const keys = await other.client().keys("*");
    await other.stop();
    expect(run).toMatchObject({ exitCode: 130, stderr: "", leftProcesses: false });
    // Somebody enters in the second scene.
    expect(run.stdout).toContain(`━━ 2 of ${SCENES} `);
    expect(run.stdout).not.toContain(`━━ 3 of ${SCENES} `);
    expect(keys).toEqual([]);
  });

  it.each([
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
