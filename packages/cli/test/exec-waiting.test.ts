import { hostname } from "node:os";
import { describe, expect, it } from "vitest";
import { until } from "../../../test/support/run/until.js";
import { locksOnRedis } from "../../../test/support/servers/locks-on-redis.js";
import { execRuns } from "./support/exec-runs.js";

const here = locksOnRedis();
const start = execRuns(() => here.server.url);

/** Its arguments are no business of anybody. */
const holding = ["sh", "-c", "echo up; read line", "--password=secret"];

describe("a command line that waits for another", () => {
  it("says who has the lock, for how long, what for, and never with which arguments", async () => {
    const args = ["exec", "deploy", "--note", "release 42", "--", ...holding];
    const holder = start(args, { stdin: "pipe" });
    await holder.says("up");
    const waiter = start(["exec", "deploy", "--report-every", "100ms", "--", "true"]);
    await waiter.complains('waiting for "deploy": held by unknown ');
    // Presence tells what is older than one of its beats.
    await waiter.complains(`held by sh@${hostname()} pid ${holder.pid} since `);
    // The beat that tells presence and the renewal of the lease go out together: the first line may have seen the lease just before that.
    await until(() => / since \d+ s \("release 42"\), lease 2\d s; waited \d+ s\n/.test(waiter.err));
    const { clients } = await here.holdfast().fleet();
    const told = clients.find(({ pid }) => pid === holder.pid);
    expect(told).toMatchObject({
      app: "sh",
      labels: { via: "holdfast exec" },
      holds: [{ note: "release 42" }],
    });
    expect(JSON.stringify(clients)).not.toContain("secret");
    holder.process.stdin?.end("\n");
    expect(await waiter.exited).toBe(0);
    expect(await holder.exited).toBe(0);
    expect(await here.plain.keys("holdfast_client*")).toEqual([]);
  });

  it("waits on while Redis does not answer, and gives up after --ttl", async () => {
    const proxy = await here.proxy();
    await here.plain.hset("deploy", "c:1", "1");
    const url = `redis://127.0.0.1:${proxy.port}`;
    const args = ["exec", "deploy", "--url", url, "--ttl", "5s", "--report-every", "100ms"];
    const patient = start([...args, "--", "echo", "started"]);
    const short = start([...args, "-E", "3", "--wait", "100ms", "--", "echo", "started"]);
    expect(await short.exited).toBe(3);
    await patient.complains("waiting for");
    const lift = proxy.addRule({ request: () => "hold", reply: () => "hold" });
    await patient.complains("; retrying for 5 s");
    await here.plain.del("deploy");
    lift();
    await proxy.heal();
    expect(await patient.exited).toBe(0);
    expect(patient.out).toBe("started\n");

    await here.plain.hset("deploy", "c:1", "1");
    const impatient = start([...args, "--", "echo", "started"]);
    await impatient.complains("waiting for");
    proxy.addRule({ request: () => "drop", reply: () => "drop" });
    expect(await impatient.exited).toBe(69);
    expect(impatient.out).toBe("");
    // Nor could it leave the queue of the lock.
    await here.plain.del("deploy", ...(await here.plain.keys("holdfast_*")));
  });

  it("tells presence in the group that was chosen", async () => {
    const run = start(["exec", "deploy", "--group", "night", "--", ...holding], { stdin: "pipe" });
    await run.says("up");
    await until(async () => (await here.plain.zcard("holdfast_clients:{night}")) === 1);
    run.process.stdin?.end("\n");
    expect(await run.exited).toBe(0);
  });

  it("says nothing into a pipe, unless it is asked to, and nothing with -q", async () => {
    await here.plain.hset("deploy", "c:1", "1");
    const silent = start(["exec", "deploy", "--wait", "1500ms", "-q", "-E", "3", "--", "true"]);
    const quiet = start([
      "exec",
      "deploy",
      "--wait",
      "1500ms",
      "-q",
      "--report-every",
      "100ms",
      "--",
      "true",
    ]);
    const told = start(["exec", "deploy", "--wait", "1500ms", "--", "true"]);
    expect([await silent.exited, silent.err]).toEqual([3, ""]);
    expect([await quiet.exited, quiet.err]).toEqual([75, ""]);
    expect(await told.exited).toBe(75);
    expect(told.err).toBe('holdfast: lock "deploy" was not acquired in time: held by unknown c:1, no TTL\n');
    await here.plain.del("deploy");
  });
});
