import { spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import { locksOnRedis } from "../../../test/support/servers/locks-on-redis.js";
import { JVM } from "../../../test/support/worlds/listed.js";
import { clientId, storeClient } from "./support/presence.js";
import { main, type Program, startProgram } from "./support/program.js";

const programs: Program[] = [];
const redis = locksOnRedis();
const FULL = "/dev/full";

afterEach(async () => {
  await Promise.all(programs.splice(0).map((program) => program.stop()));
  await redis.plain.flushall();
});

function start(...args: readonly string[]): Program {
  const program = startProgram(args, { HOLDFAST_URL: redis.server.url });
  programs.push(program);
  return program;
}

describe("a command", () => {
  test("does what it was asked for where nothing reads what it says about it", async () => {
    await redis.plain.hset("a", `${JVM}:57`, "1");
    const program = start("unlock", "a", "--force", "--yes");
    program.closeErr();
    expect(await program.exited).toEqual({ code: 0, signal: null });
    expect(program.out()).toContain("a: freed");
  });

  test.skipIf(!existsSync(FULL))("ends with 74 where stdout can not be written to", () => {
    const full = openSync(FULL, "w");
    try {
      const { status, stderr } = spawnSync(process.execPath, [main, "help"], {
        stdio: ["ignore", full, "pipe"],
        encoding: "utf8",
      });
      expect({ status, stderr }).toEqual({
        status: 74,
        stderr: expect.stringMatching(/^holdfast: stdout can not be written to: ENOSPC.*\n$/),
      });
    } finally {
      closeSync(full);
    }
  });

  test("tells of a program whose name would clear the screen [U4]", async () => {
    await redis.plain.hset("a", `${clientId(1)}:1`, "1");
    await storeClient(redis.plain, {
      id: clientId(1),
      app: "\u001b[2Jjobs",
      holds: [["a", "lock", 1, 1, 60_000, 0]],
    });
    const program = start("watch", "a");
    await program.says("watching");
    expect(program.err()).toContain("held by \\u{1b}[2Jjobs@web-7");
  });
});
