import { EventEmitter } from "node:events";
import { afterEach, describe, expect, test } from "vitest";
import { until } from "../../../test/support/run/until.js";
import { watched } from "../../../test/support/run/watched.js";
import { locksOnRedis } from "../../../test/support/servers/locks-on-redis.js";
import { JVM } from "../../../test/support/worlds/listed.js";
import { holdfast as commandLine, type Written } from "./support/command-line.js";
import { clientId, storeClient } from "./support/presence.js";
import { misfits } from "./support/schemas.js";

const redis = locksOnRedis();
const ESC = "\u001b[";
const HOUR_MS = 3_600_000;
const WATCHDOG_MS = 30_000;
const RENEWED = 1;

afterEach(() => redis.plain.flushall());

function ls(...args: readonly string[]): Promise<Written> {
  return commandLine(["ls", ...args], { env: { HOLDFAST_URL: redis.server.url } });
}

async function store(key: string, holder: string, ttlMs = HOUR_MS): Promise<void> {
  await redis.plain.hset(key, holder, "1");
  await redis.plain.pexpire(key, ttlMs);
}

/** What a fleet has: a lock with a note, one of a client that is gone, and one that it waits for and a JVM holds. */
async function storeFleet(): Promise<void> {
  const [api, jobs] = [clientId(1), clientId(2)];
  await store("order:42", `${api}:1`);
  await store("nightly", `${jobs}:1`);
  await store("report", `${JVM}:57`);
  await storeClient(redis.plain, {
    id: api,
    app: "api",
    holds: [["order:42", "lock", 1, 1, 150_000, RENEWED, "invoice 42"]],
    waits: [["report", "lock", 12_000]],
  });
  await storeClient(redis.plain, {
    id: jobs,
    app: "jobs",
    labels: { region: "eu" },
    holds: [["nightly", "lock", 1, 1, 7_200_000, 0]],
    agoMs: 150_000,
  });
}

const names = ({ lines }: Written) => lines.map((line) => (JSON.parse(line) as { name: string }).name);

describe("holdfast ls", () => {
  test("lists what Node and JVMs hold, with those who wait, and says where it has looked", async () => {
    await storeFleet();
    const { code, lines, err } = await ls();
    expect(code).toBe(0);
    expect(lines.map((line) => line.split(/ {2,}/))).toEqual([
      ["NAME", "KIND", "HELD BY", "SINCE", "LEASE", "WAITING", "FLAGS"],
      ["nightly", "lock", "jobs@web-7 pid 7 (gone 2 min)", "2 h", "59 min", "-", "fixed"],
      ["order:42", "lock", "api@web-7 pid 7", "2 min", "59 min", "-"],
      [
        "report",
        "lock",
        `JVM ${JVM.slice(0, 4)}…:57`,
        "-",
        "59 min",
        expect.stringMatching(/^1, longest 1[2-9] s$/),
      ],
    ]);
    expect(err).toBe(
      "holdfast: 3 locks, from presence (2 clients) and channels\n" +
        "holdfast: not listed: locks without a waiter, if they are held only briefly, by a JVM, or by a client without presence; --scan finds them\n",
    );
  });

  test("lists by its channel what a program without presence waits for", async () => {
    await store("jvm", `${JVM}:57`);
    const { holdfast } = redis.connect();
    const controller = new AbortController();
    const waiting = watched(holdfast.getLock("jvm").lock({ signal: controller.signal }));
    const channel = "redisson_lock__channel:{jvm}";
    await until(async () => (await redis.plain.pubsub("NUMSUB", channel))[1] === 1);
    const { lines } = await ls("--waiting");
    expect(lines.at(1)).toMatch(/^jvm .* 1 (?:listening|in the queue)$/);
    await until(async () => (await redis.plain.zcard("holdfast_waiting:{jvm}")) === 1);
    expect((await ls("--waiting")).lines.at(1)).toMatch(/^jvm .* 1 in the queue$/);
    controller.abort(new Error("enough"));
    await until(() => waiting.outcome !== undefined);
  });

  test("lists those that have a place in the queue of a semaphore, without presence", async () => {
    const { holdfast } = redis.connect();
    await holdfast.getSemaphore("pool").trySetPermits(1);
    await holdfast.getSemaphore("pool").acquire();
    const controller = new AbortController();
    const waiting = watched(holdfast.getSemaphore("pool").acquire({ signal: controller.signal }));
    await until(async () => {
      await redis.plain.publish("redisson_sc:{pool}", "1");
      return (await redis.plain.zcard("holdfast_waiting:{pool}")) === 1;
    });
    expect((await ls("--waiting")).lines.at(1)).toMatch(/^pool +semaphore .* 1 in the queue$/);
    controller.abort(new Error("enough"));
    await until(() => waiting.outcome !== undefined);
  });

  test("writes an object in a line that fits its schema", async () => {
    await storeFleet();
    const written = await ls("--json", "--sort", "name", "--scan");
    expect(misfits("lock", written.lines)).toEqual([]);
    expect(names(written)).toEqual(["nightly", "order:42", "report"]);
    expect(JSON.parse(written.lines[1] ?? "")).toMatchObject({
      holders: [
        { by: "holdfast", client: { app: "api", state: "there" }, renewed: true, note: "invoice 42" },
      ],
    });
  });

  test("chooses by pattern, client, age and waiters, and finds nothing with 0", async () => {
    await storeFleet();
    expect(names(await ls("--json", "order:*"))).toEqual(["order:42"]);
    expect(names(await ls("--json", "--client", "region=eu"))).toEqual(["nightly"]);
    expect(names(await ls("--json", "--older-than", "1h"))).toEqual(["nightly"]);
    expect(names(await ls("--json", "--waiting"))).toEqual(["report"]);
    const { code, out, err } = await ls("nothing:*");
    expect({ code, out }).toEqual({ code: 0, out: "" });
    expect(err).toContain("no lock found in presence (2 clients) and channels");
    expect((await ls("-q", "nothing:*")).err).toBe("");
  });

  test("finds what only a JVM knows of by a scan, and takes the prefix off", async () => {
    await store("app:jvm", `${JVM}:57`);
    expect((await ls("app:*")).out).toBe("");
    expect(names(await ls("--json", "--scan", "--max-keys", "1000", "--prefix", "app:", "jvm"))).toEqual([
      "jvm",
    ]);
  });

  test("says which source it could not ask, and by which right", async () => {
    await storeFleet();
    const as = (...rights: readonly string[]) =>
      redis.plain.acl("SETUSER", "small", "reset", "on", ">geheim", "&*", ...rights);
    const asUser = { HOLDFAST_URL: redis.server.url, HOLDFAST_USER: "small", HOLDFAST_PASSWORD: "geheim" };
    const listed = (...args: readonly string[]) => commandLine(["ls", ...args], { env: asUser });

    await as("~*", "+@all", "-pubsub");
    const byPresence = await listed();
    expect(byPresence.lines).toHaveLength(4);
    expect(byPresence.err).toContain(
      "channels that are listened to were not asked: this user lacks the right to it: +pubsub|channels",
    );
    expect(byPresence.err).toContain("3 locks, from presence (2 clients)\n");

    await as("~report", "~redisson_*", "+@all");
    const byChannels = await listed("--json");
    expect(byChannels.code).toBe(0);
    expect(byChannels.err).toContain(
      "presence was not asked: this user lacks the right to it: ~holdfast_client*:{default}*",
    );
    expect((await listed("--stale")).code).toBe(77);

    await as("~report", "+@all", "-pubsub");
    const byNothing = await listed();
    expect(byNothing).toMatchObject({ code: 77, out: "" });
    expect(byNothing.err).not.toContain("geheim");
    await redis.plain.acl("DELUSER", "small");
  });

  test("says how many keys a scan leaves out, as their names are not UTF-8 [U9]", async () => {
    const names = [0xff, 0xc3, 0x80].map((byte) => Buffer.from([0x61, byte]));
    const others = ["e0 80 80", "ed a0 80", "f4 90 80 80", "f5 80 80 80", "c1 bf", "61 e6 9d"];
    for (const hex of others) names.push(Buffer.from(hex.replaceAll(" ", ""), "hex"));
    for (const name of names) await redis.plain.hset(name, `${JVM}:1`, "1");
    for (const name of ["東京", "é", "😀 \u0000", "plain"]) await store(name, `${JVM}:1`);
    const { lines, err } = await ls("--scan", "--json");
    expect(lines.map((line) => (JSON.parse(line) as { name: string }).name).sort()).toEqual(
      ["東京", "é", "😀 \u0000", "plain"].sort(),
    );
    expect(err).toContain(`not listed: ${names.length} keys whose names are not UTF-8`);
  });

  test("calls stale what a client left that is gone, and nothing renews for 11 s, and lists what never ends [U7]", async () => {
    await storeFleet();
    const holds = [["nightly", "lock", 1, 1, 7_200_000, RENEWED]];
    await storeClient(redis.plain, { id: clientId(2), app: "jobs", holds, agoMs: 150_000 });
    await store("nightly", `${clientId(2)}:1`, WATCHDOG_MS);
    await store("renewed", `${clientId(3)}:1`, WATCHDOG_MS);
    await store("fixed", `${clientId(3)}:2`, WATCHDOG_MS);
    await redis.plain.hset("endless", `${clientId(4)}:1`, "1");
    await storeClient(redis.plain, {
      id: clientId(3),
      app: "cut off",
      holds: [
        ["renewed", "lock", 1, 1, 1_000, RENEWED],
        ["fixed", "lock", 2, 1, 1_000, 0],
        ["endless", "lock", 3, 1, 1_000, RENEWED],
      ],
      agoMs: 600_000,
    });
    const looking = watched(ls("--stale", "--json"));
    let renewals = 0;
    while (looking.outcome === undefined) {
      await redis.plain.pexpire("renewed", WATCHDOG_MS);
      renewals += 1;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    if (!("value" in looking.outcome)) throw looking.outcome.error;
    const { value } = looking.outcome;
    expect(names(value).sort()).toEqual(["endless", "nightly"]);
    expect(value.err).toContain("looking again after 11 s");
    expect(renewals).toBeGreaterThan(10);
  });

  test("draws the table again and again on a terminal, until q is typed, and restores the terminal", async () => {
    await storeFleet();
    const keyboard = new EventEmitter();
    const modes: boolean[] = [];
    const input = Object.assign(keyboard, {
      isTTY: true,
      setRawMode: (isRaw: boolean) => modes.push(isRaw),
      resume: () => undefined,
      pause: () => undefined,
    });
    const drawings = (out: string) => out.split(`${ESC}H`).slice(1);
    const { code, out } = await commandLine(["ls", "--watch", "500ms"], {
      env: { HOLDFAST_URL: redis.server.url, NO_COLOR: "1" },
      columns: 80,
      input,
      onWrite: (written) => {
        if (drawings(written).filter((drawing) => drawing.includes("order:42")).length === 2)
          keyboard.emit("data", Buffer.from("q"));
      },
    });
    expect({ code, modes, listeners: keyboard.listenerCount("data") }).toEqual({
      code: 0,
      modes: [true, false],
      listeners: 0,
    });
    expect(out.startsWith(`${ESC}?1049h${ESC}?25l${ESC}?7l`)).toBe(true);
    expect(out.endsWith(`${ESC}?7h${ESC}?25h${ESC}?1049l`)).toBe(true);
    const [, drawing = ""] = drawings(out);
    expect(drawing).toContain("all locks · ");
    expect(drawing).toContain("3 locks, from presence (2 clients) and channels");
    expect(drawing).not.toContain(`${ESC}2J`);
  });
});
