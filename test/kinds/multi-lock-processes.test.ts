import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { watchLeaks } from "../support/run/leaks.js";
import { type RedisServer, startRedis } from "../support/servers/redis-server.js";
import { childPrograms } from "../support/worlds/child-programs.js";

const NAMES = ["a", "b", "c", "d", "e", "f"];
/** `npm run test:long` asks for 20 s. */
const CAMPAIGN_MS = Number(process.env["HOLDFAST_CAMPAIGN_MS"] ?? 4_000);

watchLeaks();

const servers: RedisServer[] = [];
const start = childPrograms();
beforeAll(async () => {
  servers.push(await startRedis(), await startRedis());
});
afterAll(async () => {
  for (const server of servers.splice(0)) await server.stop();
});

interface Counted {
  /** What is in Redis, and how often it was counted. */
  readonly stored: Readonly<Record<string, number>>;
  readonly counted: Readonly<Record<string, number>>;
  readonly visits: readonly number[];
  readonly left: readonly string[];
}

async function campaign(processes: number, forMs: number, locked: boolean): Promise<Counted> {
  const settings = { ports: servers.map(({ port }) => port) };
  const workers = await Promise.all(Array.from({ length: processes }, () => start("joint-worker", settings)));
  const order = { names: NAMES, forMs, locked };
  const answers = await Promise.all(workers.map((worker) => worker.ask("multi", order)));
  expect(answers.map(({ event, error }) => [event, error])).toEqual(
    workers.map(() => ["counted", undefined]),
  );
  const stored: Record<string, number> = {};
  const counted: Record<string, number> = {};
  const [first, ...others] = servers.map((server) => server.client());
  for (const name of NAMES) {
    stored[name] = Number(await first?.getdel(`counter:${name}`));
    for (const { counts } of answers) {
      counted[name] = (counted[name] ?? 0) + ((counts as Record<string, number>)[name] ?? 0);
    }
  }
  const left = await Promise.all([first, ...others].map((client) => client?.keys("*") ?? []));
  return { stored, counted, visits: answers.map(({ visits }) => Number(visits)), left: left.flat() };
}

describe("8 processes that lock some of 6 names on two servers, in any order", () => {
  test(`exclude each other, never block each other for ever, and leave nothing in ${CAMPAIGN_MS / 1_000} s [B13]`, {
    timeout: CAMPAIGN_MS + 60_000,
  }, async () => {
    const { stored, counted, visits, left } = await campaign(8, CAMPAIGN_MS, true);
    expect(stored).toEqual(counted);
    expect(left).toEqual([]);
    expect(Math.min(...visits), visits.join(", ")).toBeGreaterThan(0);
  });

  test("lose counts without the lock, so that the test above can fail", { timeout: 60_000 }, async () => {
    const { stored, counted } = await campaign(4, 500, false);
    const sum = (counts: Readonly<Record<string, number>>) =>
      Object.values(counts).reduce((total, count) => total + count, 0);
    expect(sum(stored)).toBeLessThan(sum(counted));
  });
});
