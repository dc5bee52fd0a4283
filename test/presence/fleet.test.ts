import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { environment, replaceEnvironment } from "../../src/environment.js";
import { Holdfast, type HoldfastOptions } from "../../src/index.js";
import { FakeClock, MemoryServer, memoryDriver } from "../../src/memory/index.js";

const GROUP = "default";
const CLIENTS = `holdfast_clients:{${GROUP}}`;
const EVERY_MS = 5_000;

let clock: FakeClock;
let server: MemoryServer;
let clients: Holdfast[];
let putBack: () => void;

beforeEach(() => {
  clock = new FakeClock();
  server = new MemoryServer({ clock });
  clients = [];
  putBack = replaceEnvironment({ ...environment, random: () => 0 });
});
afterEach(async () => {
  await Promise.all(clients.map((each) => each.close()));
  putBack();
});

function client(options: HoldfastOptions = { presence: true }): Holdfast {
  const made = new Holdfast(memoryDriver(server), { clock, ...options });
  clients.push(made);
  return made;
}

const keyOf = ({ clientId }: Holdfast) => `holdfast_client:{${GROUP}}:${clientId}`;

describe("a client with presence", () => {
  test("has told nothing before its first beat, and then what it is", async () => {
    const one = client({ presence: { app: "billing", labels: { region: "eu" } } });
    await clock.advance(EVERY_MS - 1);
    expect(server.dump()).toEqual({});
    await clock.advance(200);
    const atMs = clock.wallMs() - 199 + 100;
    expect(Object.keys(server.dump())).toEqual([keyOf(one), CLIENTS]);
    const { clients: seen, group } = await client({}).fleet();
    expect(group).toBe(GROUP);
    expect(atMs).toBeGreaterThan(0);
    expect(seen).toMatchObject([
      { id: one.clientId, state: "there", everyMs: EVERY_MS, app: "billing", labels: { region: "eu" } },
    ]);
  });

  test("tells the locks that it has held, and waits for, since before the last beat", async () => {
    const one = client();
    const lease = await one.getLock("order:7").lock();
    const waiting = client().getLock("order:7").lock();
    await clock.advance(2 * EVERY_MS + 200);
    const { clients: seen } = await client({}).fleet();
    expect(seen).toMatchObject([
      { holds: [{ key: "order:7", kind: "lock", count: 1, renewed: true, ageMs: 10_200 }], waits: [] },
      { holds: [], waits: [{ key: "order:7", kind: "lock", ageMs: 10_200 }] },
    ]);
    await lease.unlock();
    await (await waiting).unlock();
  });
});
