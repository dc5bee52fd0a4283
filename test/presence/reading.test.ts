import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Client } from "../../src/client.js";
import { type ClientPresence, Holdfast } from "../../src/index.js";
import { FakeClock, MemoryServer, memoryDriver } from "../../src/memory/index.js";
import { readFleet } from "../../src/presence/fleet.js";

const EVERY_MS = 5_000;
const HOUR_MS = 3_600_000;
const GROUP = "claims";
const CLIENTS = `holdfast_clients:{${GROUP}}`;
const keyOf = (id: string) => `holdfast_client:{${GROUP}}:${id}`;

let clock: FakeClock;
let server: MemoryServer;
let reader: Holdfast;

beforeEach(() => {
  clock = new FakeClock();
  server = new MemoryServer({ clock });
  reader = new Holdfast(memoryDriver(server), { clock });
});
afterEach(async () => {
  await reader.close();
  expect(clock.pendingTimers).toBe(0);
});

interface Claim {
  readonly id?: string;
  readonly agoMs?: number;
  readonly fields?: Readonly<Record<string, string>>;
}

/** Writes what any program may write. @returns the client id */
function claim({ id = randomUUID(), agoMs = 0, fields = {} }: Claim = {}): string {
  const atMs = clock.wallMs() - agoMs;
  const all = { v: "1", at: String(atMs), every: String(EVERY_MS), ...fields };
  server.command("HSET", keyOf(id), ...Object.entries(all).flat());
  server.command("ZADD", CLIENTS, atMs + 3 * EVERY_MS, id);
  return id;
}

const read = async (): Promise<readonly ClientPresence[]> => (await reader.fleet({ group: GROUP })).clients;

async function claimed(fields: Readonly<Record<string, string>>): Promise<ClientPresence | undefined> {
  const id = claim({ fields });
  return (await read()).find((client) => client.id === id);
}

const NONE = { holds: [], waits: [], stats: [], lost: [], acquired: 0 };

describe("fleet()", () => {
  test("is empty where there is no such group", async () => {
    expect(await reader.fleet()).toEqual({
      atMs: clock.wallMs(),
      group: "default",
      clients: [],
      truncated: false,
    });
  });

  test("reads a client that says only that it is there", async () => {
    const id = claim({ agoMs: 100 });
    const nothing = { app: "", host: null, pid: null, startedMs: null, lib: "", runtime: "", labels: {} };
    const more = { holds: 0, waits: 0, stats: 0 };
    expect(await read()).toEqual([
      { id, state: "there", lastSeenMs: 100, everyMs: EVERY_MS, ...nothing, ...NONE, more },
    ]);
  });

  test("tells those who are there from those who missed three beats", async () => {
    claim({ agoMs: 3 * EVERY_MS });
    claim({ agoMs: 3 * EVERY_MS - 1 });
    expect((await read()).map(({ state }) => state)).toEqual(["gone", "there"]);
  });

  test("counts ages from when they were told", async () => {
    const live = JSON.stringify({
      holds: [["a", "lock", 7, 2, 100, 7, "invoice 42"]],
      waits: [["b", "fair-lock", 50]],
      stats: [["b", "fair-lock", 1, 2, 3, 40, 30]],
      lost: [["c", "stolen", 10]],
      acquired: 9,
      more: { holds: 4, waits: 5, stats: 6 },
    });
    const liveAt = String(clock.wallMs() - 1_000);
    expect(await claimed({ live, liveAt })).toMatchObject({
      holds: [
        {
          key: "a",
          kind: "lock",
          threadId: 7,
          count: 2,
          ageMs: 1_100,
          renewed: true,
          handedOff: true,
          capped: true,
          note: "invoice 42",
        },
      ],
      waits: [{ key: "b", kind: "fair-lock", ageMs: 1_050 }],
      stats: [
        { key: "b", kind: "fair-lock", waited: 1, notAcquired: 2, losses: 3, waitMsSum: 40, waitMsMax: 30 },
      ],
      lost: [{ key: "c", reason: "stolen", agoMs: 1_010 }],
      acquired: 9,
      more: { holds: 4, waits: 5, stats: 6 },
    });
  });

  const nobody: readonly (readonly [what: string, fields: Readonly<Record<string, string>>])[] = [
    ["another version", { v: "2" }],
    ["no time", { at: "yesterday" }],
    ["a beat of 0 ms", { every: "0" }],
    ["a beat of a year", { every: "31536000000" }],
  ];
  test.each(nobody)("leaves out a client with %s", async (_, fields) => {
    expect(await claimed(fields)).toBeUndefined();
  });

  test("leaves out ids that are no client's, and keys that are something else", async () => {
    const id = randomUUID();
    claim({ id: "}:x{" });
    claim({ id: `${"x".repeat(36)}` });
    server.command("SET", keyOf(id), "a string");
    server.command("ZADD", CLIENTS, clock.wallMs(), id);
    server.command("ZADD", CLIENTS, clock.wallMs(), randomUUID());
    const there = claim();
    expect((await read()).map((client) => client.id)).toEqual([there]);
  });

  const odd: readonly (readonly [what: string, live: unknown])[] = [
    ["no JSON", "{"],
    ["a list", []],
    ["lists that are none", { holds: {}, waits: "a", stats: 5, lost: null, more: [] }],
    [
      "entries that are none",
      { holds: [1, null, {}, []], waits: [["a"]], stats: [["a", "lock"]], lost: [[]] },
    ],
    [
      "numbers that are none",
      { holds: [["a", "lock", -1, 1, 1, 0]], waits: [["a", "lock", 0.5]], acquired: -1 },
    ],
    ["words that are too long", { holds: [["a", "x".repeat(65), 1, 1, 1, 0]], lost: [["a", 5, 1]] }],
    ["texts for numbers", { holds: [["a", "lock", "1", "1", "1", "0"]], acquired: "1" }],
  ];
  test.each(odd)("drops what does not fit: %s", async (_, live) => {
    const text = typeof live === "string" ? live : JSON.stringify(live);
    expect(await claimed({ live: text })).toMatchObject(NONE);
  });

  test("drops a note that is too long, and entries beyond those that may be told", async () => {
    const holds = Array.from({ length: 201 }, (_, at) => [`${at}`, "lock", 1, 1, 1, 0]);
    const found = await claimed({ live: JSON.stringify({ holds }) });
    expect(found?.holds.length).toBe(200);
    const note = "x".repeat(201);
    expect(
      await claimed({ live: JSON.stringify({ holds: [["a", "lock", 1, 1, 1, 0, note]] }) }),
    ).toMatchObject({
      holds: [{ note: null }],
    });
  });

  test("drops what a client says of itself where it does not fit", async () => {
    const labels = { a: 5, b: "x".repeat(129), ["k".repeat(33)]: "c", ok: "yes", __proto__: "harmless" };
    const meta = { app: "x".repeat(65), host: 5, pid: -1, startedMs: "now", lib: null, runtime: [], labels };
    expect(await claimed({ meta: JSON.stringify(meta) })).toMatchObject({
      app: "",
      host: null,
      pid: null,
      startedMs: null,
      lib: "",
      runtime: "",
      labels: { ok: "yes" },
    });
    const most = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`l${at}`, "x"]));
    const many = await claimed({ meta: JSON.stringify({ labels: most }) });
    expect(Object.keys(many?.labels ?? {}).length).toBe(16);
  });

  test("reads no text that is longer than any that a client writes", async () => {
    const live = JSON.stringify({ holds: [["x".repeat(16_384), "lock", 1, 1, 1, 0]] });
    expect(await claimed({ live })).toMatchObject(NONE);
    expect(await claimed({ at: `0000${clock.wallMs()}` })).toBeUndefined();
    expect(await claimed({ every: "1".repeat(20_000) })).toBeUndefined();
  });
});

describe("a large fleet", () => {
  const MANY = 450;

  function manyClaims(live: string): void {
    for (let nth = 0; nth < MANY; nth += 1)
      claim({ agoMs: nth % 3, fields: { live, liveAt: String(nth + 1) } });
  }

  test("is read in pages, each client once, although many tell at the same moment", async () => {
    manyClaims("{}");
    const client = new Client(memoryDriver(server), { clock });
    const pages: number[] = [];
    const ids = new Set<string>();
    for await (const page of readFleet(client, { group: GROUP })) {
      pages.push(page.length);
      for (const { id } of page) ids.add(id);
    }
    await client.stop();
    expect(ids.size).toBe(MANY);
    expect(Math.max(...pages)).toBeLessThanOrEqual(100);
    expect(pages.reduce((a, b) => a + b)).toBe(MANY);
  });

  test("is read in pages that are bounded by bytes, and whole", async () => {
    manyClaims(JSON.stringify({ holds: [["x".repeat(16_000), "lock", 1, 1, 1, 0]] }));
    const answers: number[] = [];
    const { evaluate } = server;
    server.evaluate = (...call) => {
      const answer = evaluate.apply(server, call);
      answers.push(JSON.stringify(answer).length);
      return answer;
    };
    const { clients } = await reader.fleet({ group: GROUP });
    expect(clients.filter(({ holds }) => holds.length === 1).length).toBe(MANY);
    expect(Math.max(...answers)).toBeLessThan(262_144 + 32_768);
    // What is unchanged is not sent again.
    answers.length = 0;
    const again = await reader.fleet({ group: GROUP });
    expect(again.clients.map(({ holds }) => holds)).toEqual(clients.map(({ holds }) => holds));
    const bytes = answers.reduce((a, b) => a + b);
    // It remembers 4 MiB of the 7 that there are.
    expect(bytes).toBeLessThan(4_194_304);
  });

  test("is passed over where it is no client's, in answers that are no longer for it", async () => {
    const there = claim();
    for (let nth = 0; nth < 150; nth += 1)
      server.command("ZADD", CLIENTS, clock.wallMs() - nth, `${nth}`.padEnd(100_000, "x"));
    const { evaluate } = server;
    const answers: number[] = [];
    server.evaluate = (...call) => {
      const answer = evaluate.apply(server, call);
      answers.push(JSON.stringify(answer).length);
      return answer;
    };
    expect((await read()).map(({ id }) => id)).toEqual([there]);
    expect(Math.max(...answers)).toBeLessThan(100_000);
  });

  test("is left in the middle: nothing waits any more", async () => {
    manyClaims("{}");
    const client = new Client(memoryDriver(server), { clock });
    for await (const page of readFleet(client, { group: GROUP })) {
      expect(page.length).toBe(100);
      break;
    }
    expect([...client.waiting()]).toEqual([]);
    await client.stop();
  });

  test("ends although clients tell all the time while it is read", async () => {
    manyClaims("{}");
    const { evaluate } = server;
    server.evaluate = (...call) => {
      const answer = evaluate.apply(server, call);
      // All of them, each time.
      const ids = server.command("ZRANGE", CLIENTS, 0, -1) as readonly string[];
      for (const id of ids.slice(0, 50)) server.command("ZINCRBY", CLIENTS, HOUR_MS, id);
      return answer;
    };
    const { clients } = await reader.fleet({ group: GROUP });
    expect(new Set(clients.map(({ id }) => id)).size).toBe(MANY);
    expect(clients.length).toBe(MANY);
  });
});

describe("a reading that is cancelled", () => {
  test("rejects with the signal's reason, before and while it reads", async () => {
    claim();
    const reason = new Error("the page was closed");
    await expect(reader.fleet({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const controller = new AbortController();
    const reading = reader.fleet({ group: GROUP, signal: controller.signal });
    controller.abort(reason);
    await expect(reading).rejects.toBe(reason);
  });

  test("rejects when its client is closed, before and while it reads", async () => {
    const reading = reader.fleet({ group: GROUP });
    const outcome = expect(reading).rejects.toMatchObject({ code: "ERR_HOLDFAST_CLOSED" });
    await reader.close();
    await outcome;
    await expect(reader.fleet()).rejects.toMatchObject({ code: "ERR_HOLDFAST_CLOSED" });
  });
});
