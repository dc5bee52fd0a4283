import { readFileSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import { until } from "../../../test/support/run/until.js";
import { locksOnRedis } from "../../../test/support/servers/locks-on-redis.js";
import { startRedis } from "../../../test/support/servers/redis-server.js";
import { JVM } from "../../../test/support/worlds/listed.js";
import { clientId, storeClient } from "./support/presence.js";
import { type Program, startProgram } from "./support/program.js";
import { misfits } from "./support/schemas.js";

const programs: Program[] = [];
const redis = locksOnRedis();
const HOUR_MS = 3_600_000;

afterEach(async () => {
  await Promise.all(programs.splice(0).map((program) => program.stop()));
  await redis.plain.flushall();
});

function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Program {
  const program = startProgram(args, { HOLDFAST_URL: redis.server.url, ...env });
  programs.push(program);
  return program;
}

async function take(key: string, holder: string): Promise<void> {
  await redis.plain.multi().del(key).hset(key, holder, "1").pexpire(key, HOUR_MS).exec();
}

async function interrupt(program: Program): Promise<void> {
  process.kill(program.pid, "SIGINT");
  expect(await program.exited).toEqual({ code: 0, signal: null });
}

describe("holdfast watch", () => {
  test("tells what becomes of a named lock of a JVM, and ends with 0 by SIGINT", async () => {
    const program = start(["watch", "order:42"]);
    await program.says('watching "order:42", every second: free now');
    await take("order:42", `${JVM}:57`);
    await program.says("taken");
    await take("order:42", `${JVM}:58`);
    await program.says("handed over");
    await redis.plain.del("order:42");
    await program.says("freed");
    await interrupt(program);
    const jvm = (thread: number) => `JVM ${JVM.slice(0, 4)}…:${thread}`;
    const lines = program.out().split("\n");
    expect(lines.map((line) => line.replace(/^\d\d:\d\d:\d\d {2}/, ""))).toEqual([
      `taken        order:42  by ${jvm(57)}`,
      `handed over  order:42  to ${jvm(58)}, from ${jvm(57)}`,
      `freed        order:42  by ${jvm(58)}`,
      "",
    ]);
  });

  test("writes an object in a line that fits its schema for each change of what a pattern fits", async () => {
    await storeClient(redis.plain, { id: clientId(1), app: "api" });
    const program = start(["watch", "order:*", "--json"]);
    await program.says("watching, every second: 0 locks now, from presence (1 client) and channels");
    await take("order:1", `${clientId(1)}:1`);
    await take("other", `${clientId(1)}:1`);
    const held = (...keys: readonly string[]) => keys.map((key) => [key, "lock", 1, 1, 1_000, 1]);
    await storeClient(redis.plain, { id: clientId(1), app: "api", holds: held("order:1", "other") });
    await program.says('"taken"');
    await redis.plain.del("order:1");
    const lost = [["order:1", "freed-by-force", 10]];
    await storeClient(redis.plain, { id: clientId(1), app: "api", holds: held("other"), lost });
    await program.says('"lost"');
    await until(() => program.out().includes('"freed"'));
    await interrupt(program);
    const lines = program.out().split("\n").slice(0, -1);
    expect(misfits("change", lines)).toEqual([]);
    const types = lines.map((line) => JSON.parse(line) as { type: string; name: string });
    expect(new Set(types.map(({ name }) => name))).toEqual(new Set(["order:1"]));
    expect(types.map(({ type }) => type).sort()).toEqual(["freed", "lost", "taken"]);
  });

  test("goes on when Redis answers again, and can be ended while it does not", async () => {
    const own = await startRedis();
    try {
      const program = start(["watch", "a"], { HOLDFAST_URL: own.url });
      await program.says("watching");
      await own.pause();
      await program.says("did not answer within");
      own.resume();
      await program.says("Redis answers again");
      const plain = own.client();
      await plain.hset("a", `${JVM}:57`, "1");
      await program.says("taken");
      await own.pause();
      await interrupt(program);
    } finally {
      own.resume();
      await own.stop();
    }
  });

  test("ends with 0 where nothing reads on", async () => {
    const program = start(["watch", "a"]);
    await program.says("watching");
    program.closeOut();
    await take("a", `${JVM}:57`);
    expect(await program.exited).toEqual({ code: 0, signal: null });
    expect(program.err()).not.toContain("EPIPE");
  });

  test("shows no login in the title of the process, nor in what it says", async () => {
    await redis.plain.acl("SETUSER", "ada", "reset", "on", ">geheim", "~*", "&*", "+@all");
    const program = start(["watch", "a", "--url", redis.server.url.replace("://", "://ada:geheim@")]);
    await program.says("watching");
    const title = readFileSync(`/proc/${program.pid}/cmdline`, "utf8");
    expect(title).toContain("holdfast watch a --url redis://***@127.0.0.1");
    await interrupt(program);
    expect(title + program.out() + program.err()).not.toContain("geheim");
    expect(program.err()).toContain("--url contains a password");
    await redis.plain.acl("DELUSER", "ada");
  });
});
