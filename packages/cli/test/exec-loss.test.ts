import { describe, expect, it } from "vitest";
import type { TcpProxy } from "../../../test/support/faults/tcp-proxy.js";
import { type SeededRandom, seededRandom } from "../../../test/support/run/seeded-random.js";
import { until } from "../../../test/support/run/until.js";
import { locksOnRedis } from "../../../test/support/servers/locks-on-redis.js";
import { startRedis } from "../../../test/support/servers/redis-server.js";
import { livingMembers } from "../src/exec/process-group.js";
import { execRuns, holdfastProgram } from "./support/exec-runs.js";
import {
  found,
  startNext as startNextOne,
  startStubborn as startStubbornGroup,
} from "./support/stubborn-group.js";

/** How often each way of losing Redis is gone through. */
const ROUNDS = Number(process.env["HOLDFAST_EXEC_ROUNDS"] ?? 4);
/** So many at the same time. */
const AT_ONCE = 4;
const TTL_MS = 5_000;
const TERMS = ["--ttl", "5s", "--kill-after", "1s"];

/** Its server is stopped and killed. */
const here = locksOnRedis(startRedis);
const start = execRuns(() => here.server.url);

const startStubborn = (name: string, options: readonly string[]) =>
  startStubbornGroup(start, name, [...TERMS, ...options]);
const startNext = (name: string, pids: readonly string[]) => startNextOne(start, name, TERMS, pids);

/** A client that was cut off can not take away what it has told. */
async function forgetPresence(): Promise<void> {
  const keys = await here.plain.keys("holdfast_client*");
  if (keys.length > 0) await here.plain.del(...keys);
}

/** Waits for a moment between two renewals. */
async function betweenRenewals(name: string, random: SeededRandom): Promise<void> {
  const leftMs = (TTL_MS * 2) / 3 + random.below(TTL_MS / 3 - 200);
  await until(async () => Math.abs((await here.plain.pttl(name)) - leftMs) < 100);
}

async function inRounds(count: number, round: (nth: number) => Promise<void>): Promise<void> {
  for (let from = 0; from < count; from += AT_ONCE) {
    const length = Math.min(AT_ONCE, count - from);
    await Promise.all(Array.from({ length }, (_, at) => round(from + at)));
  }
}

const patient = 60_000 + ROUNDS * 20_000;

describe("a group that ignores SIGTERM is dead before the next one with the lock has written its first byte", () => {
  it(
    "with the way to Redis cut off, or silent [X1]",
    async () => {
      const random = seededRandom();
      await inRounds(ROUNDS, async (nth) => {
        const name = `cut-${nth}`;
        const proxy = await here.proxy();
        const { run, pids } = await startStubborn(name, ["--url", `redis://127.0.0.1:${proxy.port}`]);
        const next = await startNext(name, pids);
        await betweenRenewals(name, random);
        cutOff(proxy, nth % 2 === 0);
        expect(await next.exited).toBe(0);
        expect(next.out).toContain("looked");
        expect(found(next)).toEqual([]);
        expect(await run.exited).toBe(76);
        expect(run.err).toMatch(
          /could not be renewed in time, after .* s; SIGTERM sent to sh, SIGKILL in (1 s|\d+ ms)\n/,
        );
        expect(run.below()).toEqual([]);
      });
      await forgetPresence();
    },
    patient,
  );

  it(
    "with Redis stopped, until the lease is over there [X1]",
    async () => {
      const random = seededRandom();
      for (let nth = 0; nth < ROUNDS; nth += AT_ONCE) {
        const names = Array.from(
          { length: Math.min(AT_ONCE, ROUNDS - nth) },
          (_, at) => `stopped-${nth + at}`,
        );
        const pairs = await Promise.all(
          names.map(async (name) => {
            const holding = await startStubborn(name, []);
            return { ...holding, next: await startNext(name, holding.pids) };
          }),
        );
        await betweenRenewals(names[0] ?? "", random);
        const leftMs = await Promise.all(names.map((name) => here.plain.pttl(name)));
        const overMs = performance.now() + Math.max(...leftMs);
        await here.server.pause();
        // What is stopped for less is renewed when it goes on.
        await until(() => performance.now() >= overMs);
        here.server.resume();
        for (const { run, next } of pairs) {
          expect(await next.exited).toBe(0);
          expect(found(next)).toEqual([]);
          expect(await run.exited).toBe(76);
          expect(run.below()).toEqual([]);
        }
      }
      await forgetPresence();
    },
    patient,
  );
});

function cutOff(proxy: TcpProxy, isSilent: boolean): void {
  if (isSilent) {
    proxy.addRule({ request: () => "drop", reply: () => "drop" });
    return;
  }
  proxy.refuse();
  for (const connection of proxy.connections) connection.cut();
}

describe("a short outage", () => {
  it("is ridden out: the command goes on under the same lock", async () => {
    const { run } = await startStubborn("a", ["--ttl", "10s"]);
    const [holder] = Object.keys(await here.plain.hgetall("a"));
    await here.server.pause();
    // Until a renewal is over time: the watchdog sends one each third of the lease.
    const overMs = performance.now() + 4_000;
    await until(() => performance.now() >= overMs);
    here.server.resume();
    await until(async () => (await here.plain.pttl("a")) > 9_000);
    expect(Object.keys(await here.plain.hgetall("a"))).toEqual([holder]);
    expect(run.err).toBe("");
    run.signal("SIGTERM");
    run.signal("SIGHUP");
    // The shell heeds the second.
    expect(await run.exited).toBe(129);
  });
});

describe("a lock that was taken away", () => {
  it("is told by the next renewal; then SIGTERM goes out at once, and SIGKILL after --kill-after [X2]", async () => {
    const proxy = await here.proxy();
    const { run } = await startStubborn("a", ["--url", `redis://127.0.0.1:${proxy.port}`]);
    const asked: string[] = [];
    const renews = new Promise<void>((resolve) => {
      proxy.addRule({
        request: (_, frame) => {
          if (!frame.includes("\r\na\r\n")) return "pass";
          asked.push(run.err);
          resolve();
          return asked.length === 1 ? "hold" : "pass";
        },
      });
    });
    // Taken away while the renewal is on its way: that one is the next.
    await renews;
    await here.plain.del("a");
    for (const connection of proxy.connections) connection.heal();
    await run.complains("was removed: freed by force, or lost by Redis");
    // That renewal has told it, and nothing was told before.
    expect(asked).toEqual([""]);
    expect(await run.exited).toBe(76);
    expect(run.err).toMatch(/SIGTERM sent to sh, SIGKILL in (1 s|\d+ ms)\n/);
    expect(run.err).toContain("SIGKILL sent to sh");
    expect(run.below()).toEqual([]);
  });

  it("ends a command that obeys SIGTERM, whatever that answers", async () => {
    const run = start([
      "exec",
      "a",
      ...TERMS,
      "--",
      "sh",
      "-c",
      "trap 'echo tidy; exit 0' TERM; echo up; sleep 600 & wait",
    ]);
    await run.says("up");
    await here.plain.del("a");
    expect(await run.exited).toBe(76);
    expect(run.out).toBe("up\ntidy\n");
    expect(run.err).not.toContain("SIGKILL sent");
  });

  it("ends the command also while the reader of stderr has stopped reading [X6]", async () => {
    // The reader of a real pipe: what Node gives a child as a pipe does not block the same way.
    const line = '{ "$@" 2>&1 >&3 | sleep 600; } 3>&1';
    const full = "trap '' TERM; echo $$; head -c 2000000 /dev/zero >&2; sleep 600";
    const execLine = [holdfastProgram, "exec", "a", ...TERMS, "--", "sh", "-c", full];
    const run = start(["-c", line, "sh", process.execPath, ...execLine], { program: "sh" });
    await run.says("\n");
    await run.stalled();
    await here.plain.del("a");
    const group = Number(run.out);
    expect(livingMembers(group)).toHaveLength(2);
    await until(() => livingMembers(group).length === 0);
    expect(run.hasEnded).toBe(false);
  });

  it("when the command has ended by itself, is told and changes no exit code", async () => {
    const run = start(["exec", "a", "--", "sh", "-c", "echo up; read line; exit 4"], { stdin: "pipe" });
    await run.says("up");
    await here.plain.del("a");
    run.process.stdin?.end("\n");
    expect(await run.exited).toBe(4);
    expect(run.err).toContain("the lock was no longer held when the command ended");
  });
});

describe("a release that Redis does not answer", () => {
  it("is told, takes bounded time, and changes no exit code", async () => {
    const proxy = await here.proxy();
    const url = `redis://127.0.0.1:${proxy.port}`;
    const run = start(["exec", "a", "--url", url, "--", "sh", "-c", "echo up; read line; exit 4"], {
      stdin: "pipe",
    });
    await run.says("up");
    cutOff(proxy, true);
    run.process.stdin?.end("\n");
    expect(await run.exited).toBe(4);
    expect(run.err).toContain("the lock could not be released, and ends with its lease");
    await here.plain.del("a");
  });
});
