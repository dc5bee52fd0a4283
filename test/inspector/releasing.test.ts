import { describe, expect, test } from "vitest";
import type { FeedSnapshot, Freed, LockDetail } from "../../src/inspector/format.js";
import { shellLine } from "../../src/inspector/told.js";
import { type Inspecting, inspecting } from "../support/worlds/inspecting.js";

const open = inspecting();
const TOLD_MS = 12_000;
const GONE_MS = 30_000;
const HOUR_MS = 3_600_000;
const OF_PAGE = { "sec-fetch-site": "same-origin" };
const NAME = "partner-api";

async function release({ ask }: Inspecting, ids: readonly string[], key = NAME, reason = "") {
  const headers = { ...OF_PAGE, "holdfast-permits": ids.join() };
  const why = reason === "" ? "" : `&reason=${encodeURIComponent(reason)}`;
  const response = await ask(`?release=${encodeURIComponent(key)}${why}`, { method: "POST", headers });
  return { status: response.status, ...((await response.json()) as Partial<Freed> & { error?: string }) };
}

async function detailOf({ ask }: Inspecting, key = NAME): Promise<LockDetail> {
  return (await (await ask(`?lock=${encodeURIComponent(key)}`)).json()) as LockDetail;
}

/** A semaphore of five: a program that is about to die has two permanent permits and a leased one, a living one has one. */
async function scene(how: Parameters<typeof open>[1] = {}) {
  const world = open({ presence: { app: "api", host: false } }, how);
  const { time, connect } = world;
  const dead = connect({ presence: { app: "jobs", host: false } });
  const semaphore = time.holdfast.getPermitExpirableSemaphore(NAME);
  await semaphore.trySetPermits(5);
  const theirs = dead.holdfast.getPermitExpirableSemaphore(NAME);
  const permanent = await theirs.acquire(2);
  const leased = await theirs.acquire({ leaseMs: HOUR_MS });
  const alive = await semaphore.acquire();
  await time.clock.advance(TOLD_MS);
  // Only what a page has listed can be given back.
  await world.ask("?snapshot");
  const die = async () => {
    dead.driver.cut();
    await time.clock.advance(GONE_MS);
  };
  const available = () => time.holdfast.getPermitExpirableSemaphore(NAME).availablePermits();
  return { ...world, permanent, leased, alive, die, available };
}

describe("a semaphore with permits of a process that has died", () => {
  test("is told as it is: how many of how many, whose, and which never return [I8]", async () => {
    const world = await scene();
    await world.die();
    const snapshot = (await (await world.ask("?snapshot&only=stale")).json()) as FeedSnapshot;
    expect(snapshot.locks).toMatchObject([
      {
        key: NAME,
        available: 1,
        takenCount: 4,
        permanentCount: 3,
        flags: expect.arrayContaining(["leaked"]),
      },
    ]);
    expect(JSON.stringify(snapshot.locks)).not.toContain("permitIds");
    const { lock, permits, unlock } = await detailOf(world);
    const of = (app: string) => lock?.holders.filter(({ client }) => client?.app === app) ?? [];
    const idsOf = (app: string) => of(app).flatMap(({ permitIds = [] }) => permitIds);
    const { ids } = world.permanent;
    expect(new Set(idsOf("jobs"))).toEqual(new Set([...ids, ...world.leased.ids]));
    expect(idsOf("api")).toEqual(world.alive.ids);
    expect(of("jobs").map(({ permanent = false, renewed }) => [permanent, renewed])).toEqual(
      expect.arrayContaining([
        [true, null],
        [false, false],
      ]),
    );
    expect(permits?.find(({ id }) => id === ids[0])?.endsInMs).toBe(-1);
    expect(permits?.find(({ id }) => id === world.leased.ids[0])?.endsInMs).toBeGreaterThan(0);
    const client = lock?.holders.find(({ client: told }) => told?.app === "jobs")?.client?.id;
    expect(unlock).toMatch(new RegExp(`^holdfast release (?:--client ${client} ?)+ -- ${NAME}$`));
    world.time.server.flush();
  });

  test("gets back what was named, and nothing of the living; it is told and logged [I8]", async () => {
    const lines: string[] = [];
    const world = await scene({ log: (line) => lines.push(line) });
    await world.die();
    const page = await world.view();
    await page.next("snapshot");
    const { ids } = world.permanent;
    expect(await release(world, ids, NAME, "jobs died")).toEqual({
      status: 200,
      outcome: "released",
      now: null,
    });
    expect(await world.available()).toBe(3);
    expect([await world.alive.release(), await world.available()]).toEqual([undefined, 4]);
    const told = (await page.next("event")) as readonly object[];
    expect(told.at(-1)).toMatchObject({
      ...{ type: "forced", key: NAME, actor: "ada", reason: "jobs died", permits: 2 },
      holder: expect.stringMatching(/^jobs pid \d+ \(/),
    });
    expect(lines).toEqual([
      `2 permits of "${NAME}" given back by force: actor "ada", reason "jobs died", permits ${JSON.stringify(ids)}`,
    ]);
    const { changes } = await detailOf(world);
    expect(changes[0]).toMatchObject({
      type: "forced",
      text: expect.stringMatching(/^2 permits given back by force by ada: jobs died; held by jobs/),
    });
    expect(await release(world, ids)).toMatchObject({ outcome: "absent" });
    expect(await world.available()).toBe(4);
    await page.leave();
    world.time.server.flush();
  });

  test("gets nothing back where one of the permits has returned meanwhile", async () => {
    const world = await scene();
    const { permanent, alive } = world;
    await alive.release();
    expect(await release(world, [...permanent.ids, ...alive.ids])).toEqual({
      status: 200,
      outcome: "changed",
      now: null,
    });
    expect(await world.available()).toBe(2);
    world.time.server.flush();
  });
});

describe("permits are given back", () => {
  test.each([
    ["", 400],
    ["x", 400],
    [`${"0".repeat(31)}g`, 400],
    [Array.from({ length: 101 }, (_, at) => at.toString(16).padStart(32, "0")).join(), 400],
    ["0".repeat(32), 200],
  ])("by their ids, a hundred at most: %.40s", async (given, status) => {
    const world = await scene();
    expect((await release(world, [given])).status).toBe(status);
    expect(await world.available()).toBe(1);
    world.time.server.flush();
  });

  test("of semaphores that were listed alone, and of no lock", async () => {
    const world = await scene();
    const lease = await world.time.holdfast.getLock("a").lock();
    await world.time.clock.advance(TOLD_MS);
    await world.ask("?snapshot");
    const ids = ["0".repeat(32)];
    expect(await release(world, ids, "never-seen")).toMatchObject({ status: 400 });
    expect(await release(world, ids, "a")).toMatchObject({
      status: 400,
      error: "it is not a semaphore whose permits have ids",
    });
    await lease.unlock();
    world.time.server.flush();
  });

  test.each([
    ["to a reader", { role: "read" }, OF_PAGE, 403],
    ["to a page of a stranger", { role: "operate" }, { "sec-fetch-site": "cross-site" }, 403],
    ["by GET", { role: "operate" }, undefined, 405],
  ] as const)("not %s", async (_, access, headers, status) => {
    const world = await scene({ authorize: () => access });
    const { permanent, ask } = world;
    const how =
      headers === undefined
        ? {}
        : { method: "POST", headers: { ...headers, "holdfast-permits": permanent.ids.join() } };
    expect((await ask(`?release=${NAME}`, how)).status).toBe(status);
    expect(await world.available()).toBe(1);
    world.time.server.flush();
  });

  test("ten times a minute by one actor, together with locks", async () => {
    const world = await scene();
    const statuses = [];
    for (let nth = 0; nth < 11; nth += 1) statuses.push((await release(world, ["0".repeat(32)])).status);
    expect(statuses).toEqual([...Array(10).fill(200), 429]);
    world.time.server.flush();
  });

  test("or not, and Redis is away: it says that nothing was done", async () => {
    const world = await scene();
    world.looks.driver.cut();
    expect(await release(world, world.permanent.ids)).toMatchObject({ status: 503, nothingDone: true });
    world.looks.driver.mend();
    world.time.server.flush();
  });
});

describe("the line for a shell", () => {
  const holder = (state: "there" | "gone", permitIds?: readonly string[]) => ({
    ...{ holder: `id-${state}`, count: 1, by: "holdfast" as const, sinceMs: null, renewed: null, note: null },
    client: { id: `id-${state}`, app: "", host: null, pid: null, state, lastSeenMs: 1, labels: {} },
    ...(permitIds && { permitIds }),
  });
  test.each([
    ["permit-expirable-semaphore", [holder("there", ["1"])], null],
    [
      "permit-expirable-semaphore",
      [holder("gone", ["1"]), holder("there", ["2"])],
      "release --client id-gone",
    ],
    ["permit-expirable-semaphore", [holder("gone", [])], null],
    ["semaphore", [holder("gone"), holder("there")], "semaphore"],
    ["semaphore", [holder("there")], null],
    ["count-down-latch", [], null],
  ] as const)("of a %s, %#", (kind, holders, how) => {
    const line = shellLine({ key: "a b", kind, holders, more: { holders: 0, waiting: 0 } });
    expect(line).toBe(how === null ? null : `holdfast ${how} -- 'a b'`);
  });
});
