import { constants } from "node:os";
import { describe, expect, it } from "vitest";
import { killNow } from "../../../test/support/run/guard.js";
import { until } from "../../../test/support/run/until.js";
import { locksOnRedis } from "../../../test/support/servers/locks-on-redis.js";
import { whenStopped } from "../../../test/support/servers/process-state.js";
import { execRuns, signalListener } from "./support/exec-runs.js";

const here = locksOnRedis();
const start = execRuns(() => here.server.url);
const listener = [process.execPath, signalListener, "outer"];

const ending = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;
const passedOn = [...ending, "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGCONT"] as const;

describe("while it waits for the lock", () => {
  it.each(ending)("%s ends it with 128 and its number, and leaves nothing behind", async (signal) => {
    const lease = await here.holdfast().getFairLock("a").lock();
    const before = await here.plain.keys("*");
    const run = start(["exec", "a", "--kind", "fair", "--report-every", "100ms", "--", "echo", "started"]);
    await run.complains("waiting for");
    expect(await here.plain.llen("redisson_lock_queue:{a}")).toBe(1);
    run.signal(signal);
    expect(await run.exited).toBe(128 + constants.signals[signal]);
    expect(run.out).toBe("");
    expect(await here.plain.keys("*")).toEqual(before);
    await lease.unlock();
  });

  it("SIGTERM ends it also while it tries to reach Redis", async () => {
    const proxy = await here.proxy();
    const run = start([
      "exec",
      "a",
      "--url",
      `redis://127.0.0.1:${proxy.port}`,
      "--connect-timeout",
      "10m",
      "--",
      "true",
    ]);
    proxy.addRule({ request: () => "drop", reply: () => "drop" });
    await until(() => proxy.accepted > 0);
    run.signal("SIGTERM");
    expect(await run.exited).toBe(143);
  });

  it.each(["SIGUSR1", "SIGUSR2", "SIGWINCH"] as const)("%s is none of its business", async (signal) => {
    await here.plain.hset("a", "c:1", "1");
    const run = start(["exec", "a", "--report-every", "100ms", "--", "echo", "started"]);
    await run.complains("waiting for");
    run.signal(signal);
    const { err } = run;
    await until(() => run.err.length > err.length);
    await here.plain.del("a");
    run.signal("SIGTERM");
    await run.exited;
    expect(run.err).not.toContain("Debugger");
  });
});

describe("while the command runs in a group of its own", () => {
  it.each(passedOn)("%s goes to all of the group, once [X3]", async (signal) => {
    const run = start(["exec", "a", "--", ...listener], { stdin: "pipe" });
    await run.says("ready");
    run.signal(signal);
    await run.says(`outer ${signal}`);
    await run.says(`inner ${signal}`);
    expect(await here.plain.exists("a")).toBe(1);
    run.process.stdin?.end();
    expect(await run.exited).toBe(3);
    expect(run.out.match(/SIG/g)).toHaveLength(2);
    expect(await here.plain.exists("a")).toBe(0);
  });

  it.each(["SIGINT", "SIGTERM"] as const)(
    "a second %s is followed by SIGKILL after --kill-after",
    async (signal) => {
      const run = start(["exec", "a", "--kill-after", "1s", "--", ...listener], { stdin: "pipe" });
      await run.says("ready");
      run.signal(signal);
      await run.says(`outer ${signal}`);
      run.signal(signal);
      await run.complains(`a second ${signal}: SIGKILL to`);
      expect(await run.exited).toBe(137);
      expect(run.below()).toEqual([]);
      expect(await here.plain.exists("a")).toBe(0);
    },
  );

  it("SIGTSTP stops the group, then holdfast, and SIGCONT lets both go on under the lock [X7]", async () => {
    const run = start(["exec", "a", "--", ...listener], { stdin: "pipe" });
    await run.says("ready");
    run.signal("SIGTSTP");
    await whenStopped(run.pid);
    // Group first: it stands still by the time holdfast does.
    for (const pid of run.below()) await whenStopped(pid);
    run.signal("SIGCONT");
    await run.says("outer SIGCONT");
    await run.says("inner SIGCONT");
    run.process.stdin?.end();
    expect(await run.exited).toBe(3);
  });

  it("SIGCONT after the lease kills the group before any of it goes on [X7]", async () => {
    const run = start(["exec", "a", "--ttl", "5s", "--", ...listener], { stdin: "pipe" });
    await run.says("ready");
    run.signal("SIGTSTP");
    await whenStopped(run.pid);
    await until(async () => (await here.plain.exists("a")) === 0);
    run.signal("SIGCONT");
    expect(await run.exited).toBe(76);
    expect(run.out).not.toContain("SIGCONT");
    expect(run.out).not.toContain("SIGTERM");
    expect(run.err).toContain("has expired, because holdfast or the machine was stopped");
    expect(run.below()).toEqual([]);
  });

  it("members of the group that run on keep the lock when the command has ended, and its code is kept as well [X3]", async () => {
    const run = start(["exec", "a", "--", "sh", "-c", "sleep 600 & echo $!; exit 5"]);
    await run.complains("of its group still run");
    expect(await here.plain.exists("a")).toBe(1);
    await until(() => run.below().length > 0);
    const [pid] = run.below();
    expect(run.out).toBe(`${pid}\n`);
    run.signal("SIGHUP");
    expect(await run.exited).toBe(5);
    expect(run.below()).toEqual([]);
    expect(await here.plain.exists("a")).toBe(0);
  });
});

describe("when holdfast itself is killed", () => {
  it("the command runs on, and the lock falls within --ttl", async () => {
    const run = start(["exec", "a", "--ttl", "5s", "--", "sh", "-c", "echo up; sleep 600 & wait"]);
    await run.says("up");
    await until(() => run.below().length === 2);
    killNow(run.pid);
    await until(async () => (await here.plain.exists("a")) === 0);
    expect(run.below()).toHaveLength(2);
  });

  it("with --die-with-parent the kernel kills the command", async () => {
    const args = [
      "exec",
      "a",
      "--ttl",
      "5s",
      "--die-with-parent",
      "--",
      "sh",
      "-c",
      "echo up; sleep 600 & wait",
    ];
    const run = start(args);
    await run.says("up");
    await until(() => run.below().length === 2);
    killNow(run.pid);
    // What it has started is another matter.
    await until(() => run.below().length === 1);
    await until(async () => (await here.plain.exists("a")) === 0);
    expect(run.below()).toHaveLength(1);
  });
});
