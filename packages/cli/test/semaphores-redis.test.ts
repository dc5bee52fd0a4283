import { readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { until } from "../../../test/support/run/until.js";
import { locksOnRedis } from "../../../test/support/servers/locks-on-redis.js";
import { childPrograms } from "../../../test/support/worlds/child-programs.js";
import { holdfast as commandLine, type Written } from "./support/command-line.js";
import { clientId, storeClient } from "./support/presence.js";
import { misfits } from "./support/schemas.js";

const redis = locksOnRedis();
const start = childPrograms();
const log = join(tmpdir(), `holdfast-release-${process.pid}`);
const HOUR_MS = 3_600_000;
const LEASES = "{leasing}:timeout";
const told: string[] = [];
afterEach(async () => {
  rmSync(log, { force: true });
  await redis.plain.del("leasing", LEASES, "plain", "a", ...told.splice(0));
});

function run(...args: readonly string[]): Promise<Written> {
  return commandLine([...args, "--url", redis.server.url]);
}

/** A line to paste, as it was shown. */
function pasted(out: string, begins: string): Promise<Written> {
  const line = out.split("\n").find((each) => each.includes(begins)) ?? "";
  const words = line.slice(line.indexOf("holdfast ")).trim().split(" ");
  return commandLine(words.slice(1));
}

describe("an operator after the death of a process", () => {
  test("finds what it leaked by name, is told what is true, and gives back that alone [U5]", async () => {
    const tool = redis.holdfast();
    await tool.getPermitExpirableSemaphore("leasing").trySetPermits(5);
    await tool.getSemaphore("plain").trySetPermits(3);
    const processOf = (app: string) =>
      start("permit-holder", {
        port: redis.server.port,
        semaphore: "leasing",
        presence: { app, host: false, everyMs: 1_000 },
      });
    const [dead, living] = [await processOf("jobs"), await processOf("api")];
    await dead.ask("acquire", { permits: 2 });
    await dead.ask("acquire", { leaseMs: HOUR_MS });
    await dead.ask("take", { from: "plain", permits: 2 });
    const { ids } = await living.ask("acquire");
    const [kept = ""] = ids as readonly string[];
    await living.ask("take", { from: "plain" });
    const clients = async () => (await tool.fleet()).clients;
    await until(async () => {
      const holds = (await clients()).map(({ app, holds: all }) => `${app} ${all.length}`);
      return holds.includes("jobs 3") && holds.includes("api 2");
    });
    await dead.stop();
    await until(async () => (await clients()).some(({ app, state }) => app === "jobs" && state === "gone"));
    const jobs = (await clients()).find(({ app }) => app === "jobs")?.id ?? "";

    const list = await run("ls", "--sort", "name");
    const [head = "", ...rows] = list.lines;
    expect(head).toContain("HELD BY");
    expect(rows.map((row) => row.split(/ {2,}/)).map(([name, kind, by]) => [name, kind, by])).toEqual([
      ["leasing", "permits", expect.stringMatching(/^jobs pid \d+ \(gone \d+ s\) ×2 and 2 more$/)],
      ["plain", "semaphore", expect.stringMatching(/^jobs pid \d+ \(gone \d+ s\) ×2 and 1 more$/)],
    ]);
    for (const row of rows) expect(row).toMatch(/ no end .*leaked/);

    const shown = await run("show", "leasing");
    expect(shown.out).toContain("leasing · permits · 1 of 5 available");
    expect(shown.out).toMatch(
      /jobs pid \d+ \(gone \d+ s\), 2 permits, for \d+ s, which never return by themselves/,
    );
    expect(shown.out).toMatch(/jobs pid \d+ \(gone \d+ s\), 1 permit, for \d+ s, a fixed lease/);
    expect(shown.out).toMatch(new RegExp(`${kept}  never returns by itself, of api pid \\d+\n`));

    const left = await run("release", "leasing");
    expect([left.code, left.out]).toEqual([1, expect.stringContaining("leasing: nothing was done")]);
    const given = await pasted(shown.out, "free it");
    expect([given.code, given.out]).toEqual([0, expect.stringContaining("leasing: 3 permits given back")]);
    expect(given.err).toMatch(
      /release: \S+ pid \d+ gave back permits of "leasing"; permits [0-9a-f]{32} \(jobs pid/,
    );
    expect(await tool.inspect("leasing")).toMatchObject({ available: 4, taken: [{ id: kept }] });

    const plain = await run("semaphore", "plain");
    expect(plain.out).toContain("0 available; Redis does not store the total");
    expect(plain.out).toMatch(/jobs pid \d+ \(gone \d+ s\), 2 permits more taken than given back/);
    expect(plain.out).toContain("all its permits minus the 1 of running clients");
    expect(plain.out).toContain("holdfast semaphore plain");
    const set = await run("semaphore", "plain", "--set", "2", "--reason", "its pod is gone", "--log", log);
    expect([set.code, set.out]).toEqual([
      0,
      expect.stringContaining("plain: 2 are available now, instead of 0"),
    ]);
    expect(readFileSync(log, "utf8")).toMatch(
      /semaphore --set 2: .* changed the permits of "plain"; 0 available.*its pod/,
    );

    expect(await living.ask("state")).toMatchObject({ state: "held" });
    told.push(
      "holdfast_clients:{default}",
      ...(await clients()).map(({ id }) => `holdfast_client:{default}:${id}`),
    );
    expect((await run("release", "leasing", "--client", jobs)).out).toContain("no client");
  });
});

describe("a semaphore whose permits a client has that is gone", () => {
  const [GONE, THERE] = [clientId(1), clientId(2)];
  const idOf = (nth: number) => String(nth).repeat(32);
  const startOf = (nth: number) => idOf(nth).slice(0, 16);
  const PERMANENT = 922_337_203_685_477;

  beforeEach(async () => {
    await redis.plain.set("leasing", 1);
    const bytes = (nth: number) => Buffer.from(idOf(nth), "hex");
    await redis.plain.zadd(LEASES, PERMANENT, bytes(1), PERMANENT, bytes(2), PERMANENT, bytes(3));
    const hold = (nth: number) => [
      "leasing",
      "permit-expirable-semaphore",
      0,
      1,
      9_000,
      8,
      null,
      [startOf(nth)],
    ];
    for (const [id, app, agoMs, nth] of [
      [GONE, "jobs", 60_000, 1],
      [THERE, "api", 0, 2],
    ] as const)
      told.push(...(await storeClient(redis.plain, { id, app, agoMs, holds: [hold(nth)] })));
  });

  test.each([
    { args: ["--client", GONE], code: 0, says: "1 permit given back", left: 2 },
    { args: ["--client", GONE.slice(0, -1)], code: 1, says: "several client ids begin with", left: 3 },
    {
      args: ["--client", THERE],
      code: 1,
      says: "is not gone; --force gives its permits back anyway",
      left: 3,
    },
    { args: ["--client", THERE, "--force"], code: 0, says: "1 permit given back", left: 2 },
    { args: ["--client", clientId(3)], code: 1, says: "no client", left: 3 },
    { args: ["--permit", idOf(3)], code: 0, says: "1 permit given back", left: 2 },
    { args: ["--permit", idOf(3), "--client", GONE], code: 0, says: "2 permits given back", left: 1 },
    { args: ["--permit", idOf(3), "--permit", idOf(7)], code: 1, says: "is not out", left: 3 },
    { args: [], code: 1, says: `holdfast release leasing`, left: 3 },
  ])("gives back with $args: $says", async ({ args, code, says, left }) => {
    const { code: was, out } = await run("release", "leasing", ...args);
    expect([was, out, await redis.plain.zcard(LEASES)]).toEqual([code, expect.stringContaining(says), left]);
    expect(await redis.plain.get("leasing")).toBe(String(4 - left));
  });

  test("keeps what a client that is there tells to be its, and what no client can be told to have [P12]", async () => {
    const hold = (...starts: readonly string[]) => [
      "leasing",
      "permit-expirable-semaphore",
      0,
      1,
      9_000,
      8,
      null,
      starts,
    ];
    const holds = [hold(startOf(1)), hold(startOf(2)), hold("nonsense"), hold(startOf(3))];
    await storeClient(redis.plain, { id: GONE, app: "jobs", agoMs: 60_000, holds });
    // Two permits that begin alike.
    await redis.plain.zadd(LEASES, PERMANENT, Buffer.from(`${startOf(3)}${"0".repeat(16)}`, "hex"));
    const { out } = await run("release", "leasing", "--client", GONE);
    expect(out).toContain("1 permit given back");
    expect(await redis.plain.zrangeBuffer(LEASES, 0, "-1")).not.toContainEqual(Buffer.from(idOf(1), "hex"));
  });

  test("is told in objects that fit their schemas", async () => {
    const lines = async (...args: readonly string[]) => (await run(...args, "--json")).lines;
    expect(misfits("lock", await lines("ls"))).toEqual([]);
    expect(misfits("shown-lock", await lines("show", "leasing", "plain"))).toEqual([]);
    const semaphores = [
      ...(await lines("semaphore", "leasing")),
      ...(await lines("semaphore", "leasing", "--set", "5")),
    ];
    expect(misfits("semaphore", semaphores)).toEqual([]);
    expect(semaphores.map((line) => JSON.parse(line))).toMatchObject([
      { outcome: "shown", available: 1, takenCount: 3 },
      { outcome: "set", available: 1, takenCount: 3 },
    ]);
    const releases = [
      ...(await lines("release", "leasing")),
      ...(await lines("release", "leasing", "--client", GONE)),
    ];
    expect(misfits("release", releases)).toEqual([]);
    expect(releases.map((line) => JSON.parse(line))).toMatchObject([
      { outcome: "left", why: null, permits: [] },
      { outcome: "released", permits: [idOf(1)] },
    ]);
  });

  test("is listed by --scan also where no client tells of it, and none waits", async () => {
    await redis.plain.del(...told.splice(0));
    const { out } = await run("ls", "--scan");
    expect(out).toMatch(/^leasing +permits +3 permits out/m);
  });

  test.each([
    { name: "a", args: ["release"], code: 65, says: "is not a semaphore: it is not there" },
    { name: "plain", args: ["release", "--permit", idOf(7)], code: 65, says: "none of the permits" },
    { name: "leasing", args: ["release", "--force"], code: 64, says: "--force needs --client" },
    { name: "leasing", args: ["semaphore", "--set", "-1"], code: 64, says: "argument" },
    { name: "leasing", args: ["semaphore", "--set", "1.5"], code: 64, says: "whole number" },
    {
      name: "leasing",
      args: ["unlock"],
      code: 65,
      says: "is not a lock, but a semaphore: use holdfast release",
    },
    {
      name: "plain",
      args: ["unlock"],
      code: 65,
      says: "is not a lock, but a semaphore or a latch: use holdfast semaphore",
    },
  ])("refuses $args of $name with $code", async ({ name, args: [command = "", ...args], code, says }) => {
    await redis.plain.set("plain", 3);
    const { code: was, err } = await run(command, name, ...args);
    expect([was, err]).toEqual([code, expect.stringContaining(says)]);
  });
});
