import { afterEach, describe, expect, test } from "vitest";
import type { Holdfast } from "../../src/index.js";
import { semaphoreChannel, waitingKey } from "../../src/protocol/names.js";
import { until } from "../support/run/until.js";
import { type Watched, watched } from "../support/run/watched.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { fakeTime } from "../support/worlds/fake-time.js";
import { JVM, listed } from "../support/worlds/listed.js";
import { givenByJvm, setAvailable } from "../support/worlds/permits.js";

const redis = locksOnRedis();
const open = fakeTime();
const KINDS = ["getSemaphore", "getPermitExpirableSemaphore"] as const;
const QUEUE = waitingKey("s");

afterEach(() => redis.plain.flushdb());

/** Calls that wait for one permit each, of clients that lose a race, one after the other, and so stand in the queue. */
async function queue(
  kind: (typeof KINDS)[number],
  clients: readonly Holdfast[],
  looks: Holdfast,
  name = "s",
) {
  const ending = new AbortController();
  const calls: Watched<unknown>[] = [];
  for (const [at, client] of clients.entries()) {
    calls.push(watched<unknown>(client[kind](name).acquire({ signal: ending.signal })));
    await until(async () => {
      await redis.plain.publish(semaphoreChannel(name), "1");
      return (await looks.inspect(name)).waitingClientCount > at;
    });
  }
  const end = async () => {
    ending.abort(new Error("enough"));
    await until(() => calls.every(({ outcome }) => outcome !== undefined));
  };
  return { end };
}

describe.each(KINDS)("the clients that wait for permits of %s", (kind) => {
  test("are told by inspect and locks() in the order in which they are told their turn, without presence", async () => {
    const [looks, ...clients] = [0, 1, 2, 3].map(() => redis.holdfast()) as [Holdfast, ...Holdfast[]];
    const ids = clients.map(({ clientId }) => clientId);
    const semaphore = looks[kind]("s");
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire();
    const { end } = await queue(kind, clients, looks);
    const isLeased = kind === "getPermitExpirableSemaphore";
    const state = await looks.inspect("s");
    expect(state).toMatchObject({
      kind: isLeased ? "permit-expirable-semaphore" : "semaphore-or-latch",
      queue: [],
      waitingClients: ids,
      waitingClientCount: 3,
    });
    expect(state.listeners).toBeGreaterThanOrEqual(3);
    const found = await listed(looks.locks({ sources: ["channels"] }));
    expect(found).toMatchObject([
      {
        key: "s",
        kind: isLeased ? "permit-expirable-semaphore" : "semaphore",
        waiting: ids.map((holder) => ({ holder, client: null, forMs: null, note: null })),
        more: { holders: 0, waiting: 0 },
      },
    ]);
    await end();
    await permits?.release();
    // They leave the queue in the background.
    await until(async () => (await looks.inspect("s")).waitingClientCount === 0);
    expect((await looks.inspect("s")).waitingClients).toEqual([]);
  });
});

describe("inspect", () => {
  test("tells a client once for each number of permits that its calls want, and counts it once among those that listen", async () => {
    const id = (at: number) => `${at}${JVM.slice(1)}`;
    const lines = [`${id(1)}:3`, `${id(2)}:1`, `${id(1)}:1`];
    await redis.plain.set("s", "0");
    await redis.plain.zadd(QUEUE, ...lines.flatMap((line, at) => [at + 1, line]));
    await redis.plain.zadd(QUEUE, -Date.now(), `told:${id(1)}:3`);
    expect(await redis.holdfast().inspect("s")).toMatchObject({
      kind: "semaphore-or-latch",
      available: 0,
      waitingClients: [id(1), id(2), id(1)],
      waitingClientCount: 3,
      listeners: 2,
    });
  });

  test("tells how many processes listen for permits, the waiters of JVMs among them", async () => {
    const jvm = redis.connect().redis;
    await jvm.subscribe(semaphoreChannel("s"));
    await redis.plain.set("s", "0");
    expect(await redis.holdfast().inspect("s")).toMatchObject({ waitingClients: [], listeners: 1 });
  });

  test.each([
    ["a holder", `${JVM}:x`],
    ["permits without a number", `${JVM}:`],
    ["a negative number of them", `${JVM}:-1`],
  ])("tells nobody where one stands in the queue with %s", async (_, member) => {
    await redis.plain.set("s", "0");
    await redis.plain.zadd(QUEUE, 1, `${JVM}:1`, 2, member);
    expect(await redis.holdfast().inspect("s")).toMatchObject({ waitingClients: [], waitingClientCount: 0 });
  });
});

describe("locks()", () => {
  test("tells who waits for permits of a semaphore that was never given any, and takes it for no lock", async () => {
    const waiting = redis.holdfast();
    const looks = redis.holdfast();
    const { end } = await queue("getSemaphore", [waiting], looks);
    expect(await looks.inspect("s")).toMatchObject({ kind: "none", waitingClients: [waiting.clientId] });
    expect(await listed(looks.locks({ sources: ["channels"] }))).toMatchObject([
      { key: "s", kind: "semaphore", ttlMs: -2, waiting: [{ holder: waiting.clientId }] },
    ]);
    await end();
  });

  test.each([
    ["s", "{s}"],
    ["{s}", "s"],
  ])("lists the queue of the semaphore %s once, although %s would have the same", async (name) => {
    const [looks, waiting] = [redis.holdfast(), redis.holdfast()];
    await looks.getSemaphore(name).trySetPermits(1);
    await looks.getSemaphore(name).acquire();
    const { end } = await queue("getSemaphore", [waiting], looks, name);
    expect((await listed(looks.locks({ sources: ["channels"] }))).map(({ key }) => key)).toEqual([name]);
    await end();
  });

  test("tells the queue of a semaphore with the longest waits of each client, and then its other calls", async () => {
    const time = open({ presence: true });
    const { clock, connect, server } = time;
    setAvailable(time, 0);
    const [told, silent] = [connect({ presence: true }).holdfast, connect().holdfast];
    const calls = [];
    for (const [client, wanted, note] of [
      [told, 1, "first"],
      [silent, 1, undefined],
      [told, 2, "second"],
      [told, 1, "third"],
    ] as const) {
      calls.push(watched(client.getPermitExpirableSemaphore("s").acquire(wanted, { note })));
      await clock.advance(1_000);
      server.command("PUBLISH", semaphoreChannel("s"), "1");
      await clock.advance(1);
    }
    await clock.advance(15_000);
    const found = watched(listed(connect().holdfast.locks()));
    while (found.outcome === undefined) await clock.advance(1);
    const client = { id: told.clientId };
    expect(found.outcome).toMatchObject({
      value: [
        {
          kind: "permit-expirable-semaphore",
          available: 0,
          holders: [],
          more: { holders: 0, waiting: 0 },
          waiting: [
            { holder: told.clientId, client, note: "first" },
            { holder: silent.clientId, client: null, forMs: null },
            { holder: told.clientId, client, note: "second" },
            { holder: null, client, note: "third" },
          ],
        },
      ],
    });
    await givenByJvm(time, 5);
    await clock.advance(5_000);
    expect(calls.every(({ outcome }) => outcome !== undefined)).toBe(true);
    server.command("DEL", "s", "{s}:timeout");
  });
});
