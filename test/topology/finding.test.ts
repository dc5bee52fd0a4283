import { describe, expect, test } from "vitest";
import type { Driver } from "../../src/driver/driver.js";
import { allPairs } from "../support/clients/all-pairs.js";
import { pairs } from "../support/clients/pairs.js";
import { until } from "../support/run/until.js";
import { watched } from "../support/run/watched.js";
import { backendOf, openedFor } from "../support/servers/backends.js";
import { JVM, listed } from "../support/worlds/listed.js";

const HOUR_MS = 3_600_000;
const NAMES = Array.from({ length: 24 }, (_, at) => `order:${String(at).padStart(2, "0")}`);

const played = pairs.filter(
  ({ topology, client }) =>
    allPairs || (topology === "cluster" && /^(?:ioredis 6|node-redis 6|GLIDE)$/.test(client)),
);

describe.each(played)("locks() through $client on the topology: $topology", (pair) => {
  const backend = openedFor(backendOf(pair));

  /** Locks of a JVM, on all masters of a cluster. */
  async function store(): Promise<void> {
    for (const name of NAMES) {
      await backend().raw("HSET", name, `${JVM}:57`, 1);
      await backend().raw("PEXPIRE", name, HOUR_MS);
    }
  }

  const clear = () => Promise.all(NAMES.map((name) => backend().raw("DEL", name)));

  test("finds by channels what is waited for, on whichever server", async () => {
    await store();
    const [waits, looks] = [backend().client(), backend().client()];
    const controller = new AbortController();
    const { signal } = controller;
    const waiting = NAMES.slice(0, 12).map((name) => watched(waits.getLock(name).lock({ signal })));
    const find = () => listed(looks.locks({ sources: ["channels"] }));
    await until(async () => (await find()).length === waiting.length);
    const locks = await find();
    expect(locks.map(({ key }) => key)).toEqual(NAMES.slice(0, 12));
    for (const { kind, holders, listeners } of locks) {
      expect(kind).toBe("lock");
      expect(holders).toMatchObject([{ holder: `${JVM}:57`, by: "jvm" }]);
      expect(listeners).toBe(1);
    }
    controller.abort(new Error("enough"));
    await until(() => waiting.every(({ outcome }) => outcome !== undefined));
    await clear();
  });

  test("finds by a scan what is stored, on whichever server", async () => {
    await store();
    const locks = await listed(
      backend()
        .client()
        .locks({ sources: ["scan"], match: "order:*" }),
    );
    expect(locks.map(({ key }) => key).sort()).toEqual(NAMES);
    await clear();
  });

  test("asks for no key that a client claims and no lock can have [P2]", async () => {
    await store();
    const [atMs, client] = [Date.now(), `holdfast_client:{default}:${JVM}`];
    const keys = ["", "a}b", "{a}{b}", "order:00"];
    const live = JSON.stringify({ holds: keys.map((key) => [key, "lock", 57, 1, 0, 1]), waits: [] });
    const told = { v: 1, at: atMs, every: 60_000, meta: "{}", live, liveAt: atMs };
    await backend().raw("HSET", client, ...Object.entries(told).flat());
    await backend().raw("ZADD", "holdfast_clients:{default}", atMs + 3_600_000, JVM);
    const locks = await listed(backend().client().locks());
    expect(locks.map(({ key }) => key)).toEqual(["order:00"]);
    expect(locks[0]?.holders).toMatchObject([{ by: "jvm", client: { id: JVM }, renewed: true }]);
    await backend().raw("DEL", client);
    await backend().raw("DEL", "holdfast_clients:{default}");
    await clear();
  });

  test("says at once what to do where the driver reaches no master by itself", async () => {
    const looks = backend().client({}, (driver) => without(driver));
    if (pair.topology === "cluster") {
      const ask = () => looks.locks({ sources: ["scan"] });
      expect(ask).toThrow(TypeError);
      expect(ask).toThrow('the source "scan" asks each master of a cluster');
    } else expect(await listed(looks.locks({ sources: ["scan"] }))).toEqual([]);
    expect(await listed(looks.locks())).toEqual([]);
  });
});

/** A driver that a user has written before there was the member. */
function without(driver: Driver): Driver {
  return new Proxy(driver, {
    get: (target, name) => {
      const value: unknown = name === "everywhere" ? undefined : Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
