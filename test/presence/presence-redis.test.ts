import { randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import { afterEach, describe, expect, test } from "vitest";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { events, type PresenceFailedEvent } from "../../src/events.js";
import { type ClientPresence, Holdfast, type HoldfastOptions } from "../../src/index.js";
import { presenceTell } from "../../src/protocol/presence-scripts.js";
import type { RawReply } from "../../src/protocol/script-call.js";
import { destroyClient } from "../support/clients/ioredis-clients.js";
import { until } from "../support/run/until.js";
import { documentedUser, knownRights, presenceRight } from "../support/servers/documented-rights.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { spawnProgram } from "../support/worlds/child.js";

const HOUR_MS = 3_600_000;
const EVERY_MS = 1_000;
/** As long as a client has not heard how large its group is. */
const FIRST_EVERY_MS = 3_000;
const CLIENTS = "holdfast_clients:{default}";
const locks = locksOnRedis();

const keyOf = (clientId: string) => `holdfast_client:{default}:${clientId}`;

async function seen(by: Holdfast, clientId: string): Promise<ClientPresence | undefined> {
  return (await by.fleet()).clients.find(({ id }) => id === clientId);
}

async function untilSeen(
  by: Holdfast,
  clientId: string,
  is: (client: ClientPresence) => boolean,
): Promise<ClientPresence> {
  let found: ClientPresence | undefined;
  await until(async () => {
    found = await seen(by, clientId);
    return found !== undefined && is(found);
  });
  if (found === undefined) throw new Error("it was not found");
  return found;
}

describe("on a real server", () => {
  test("a client tells two keys with TTLs of an hour, and takes them away when it is closed", async () => {
    const { plain } = locks;
    const reader = locks.holdfast();
    const one = locks.holdfast({ presence: { app: "billing", everyMs: EVERY_MS } });
    const lease = await one.getLock("order:7").lock();
    // The first beat has not heard yet how large the group is.
    const { holds, ...self } = await untilSeen(
      reader,
      one.clientId,
      (client) => client.holds.length > 0 && client.everyMs === EVERY_MS,
    );
    expect(self).toMatchObject({ app: "billing", state: "there", pid: process.pid, everyMs: EVERY_MS });
    expect(holds).toMatchObject([{ key: "order:7", kind: "lock", count: 1, renewed: true }]);
    expect(lease.holder).toBe(`${one.clientId}:${holds[0]?.threadId}`);
    expect((await plain.keys("holdfast_client*")).sort()).toEqual([keyOf(one.clientId), CLIENTS].sort());
    expect(await plain.type(CLIENTS)).toBe("zset");
    expect((await plain.hkeys(keyOf(one.clientId))).sort()).toEqual(
      ["at", "beat", "every", "live", "liveAt", "meta", "v"].sort(),
    );
    const ttlsMs = await Promise.all([plain.pttl(CLIENTS), plain.pttl(keyOf(one.clientId))]);
    expect(ttlsMs[0]).toBeGreaterThan(HOUR_MS);
    // The set keeps the TTL that the first beat has given it.
    expect(ttlsMs[0]).toBeLessThanOrEqual(HOUR_MS + 3 * FIRST_EVERY_MS);
    expect(ttlsMs[1]).toBeGreaterThan(HOUR_MS);
    expect(ttlsMs[1]).toBeLessThanOrEqual(HOUR_MS + 3 * EVERY_MS);
    await lease.unlock();
    await one.close();
    expect(await plain.keys("holdfast_client*")).toEqual([]);
  });

  test("a process that is killed is gone after three beats, and is named with what it had for an hour", async () => {
    const { plain, server } = locks;
    const reader = locks.holdfast();
    const presence = { app: "taker", everyMs: EVERY_MS };
    const child = spawnProgram("lock-taker", { port: server.port, lock: "order:7", presence });
    const { clientId } = await child.next("ready");
    const id = String(clientId);
    await child.ask("lock");
    await untilSeen(reader, id, ({ holds }) => holds.length > 0);
    await child.stop();
    const killed = await seen(reader, id);
    expect(killed?.state).toBe("there");
    const gone = await untilSeen(reader, id, ({ state }) => state === "gone");
    expect(gone.lastSeenMs).toBeGreaterThanOrEqual(3 * EVERY_MS);
    expect(gone).toMatchObject({ app: "taker", holds: [{ key: "order:7" }] });
    expect(await plain.pttl(keyOf(id))).toBeGreaterThan(HOUR_MS / 2);
    await plain.del(CLIENTS, keyOf(id), "order:7");
  });
});

describe("a number that another program has stored as the beat", () => {
  test("silences no client on a real server [P1-2]", async () => {
    const { plain } = locks;
    const one = locks.holdfast({ presence: { everyMs: EVERY_MS } });
    const beat = async () => Number(await plain.hget(keyOf(one.clientId), "beat"));
    await until(async () => (await beat()) >= 1);
    await plain.hset(keyOf(one.clientId), "beat", "1000");
    await until(async () => (await beat()) > 1_000);
    await plain.hset(keyOf(one.clientId), "beat", "9e15");
    await until(async () => (await beat()) < 9e15);
    expect(await beat()).toBeLessThan(2_000);
    await one.close();
  });

  const stored: readonly (readonly [number: string, answer: "late" | "written"])[] = [
    ["8", "late"],
    ["7.5", "late"],
    ["4294967302", "late"],
    ["4294967303", "written"],
    ["9e15", "written"],
    ["9007199254740993", "written"],
    ["inf", "written"],
    ["nan", "written"],
    ["-1", "written"],
    ["many", "written"],
  ];
  test.each(stored)(
    "is heeded where it is a little ahead: before beat 7, %s is %s",
    async (number, answer) => {
      const { plain } = locks;
      const clientId = randomUUID();
      await plain.hset(keyOf(clientId), "beat", number);
      const told = {
        group: "default",
        clientId,
        notAfterMs: Number.MAX_SAFE_INTEGER,
        beat: 7,
        keepMs: HOUR_MS,
      };
      const { script, keys, args } = presenceTell.encode({
        ...told,
        everyMs: FIRST_EVERY_MS,
        leastMs: EVERY_MS,
        meta: "",
        live: "",
      });
      const reply = await plain.eval(script.lua, keys.length, ...keys, ...args);
      const late = { isLate: true, stored: Math.floor(Number(number)) };
      const written = { isLate: false, nextMs: EVERY_MS, needsMeta: true };
      expect(presenceTell.decode(reply as RawReply, keys.length).reply).toEqual(
        answer === "late" ? late : written,
      );
      const fields =
        answer === "late" ? { beat: number } : { beat: "7", every: String(FIRST_EVERY_MS), v: "1" };
      expect(await plain.hgetall(keyOf(clientId))).toMatchObject(fields);
      await plain.del(CLIENTS, keyOf(clientId));
    },
  );
});

describe("a user of the server", () => {
  const failures: PresenceFailedEvent[] = [];
  const onFailure = (event: PresenceFailedEvent) => void failures.push(event);
  const opened: { readonly holdfast: Holdfast; readonly redis: Redis }[] = [];

  afterEach(async () => {
    events.presenceFailed.unsubscribe(onFailure);
    failures.length = 0;
    for (const { holdfast, redis } of opened.splice(0)) {
      await holdfast.close();
      await destroyClient(redis);
    }
    await locks.plain.call("ACL", "DELUSER", documentedUser.username);
    await locks.plain.call("ACL", "LOG", "RESET");
  });

  async function user(rights: readonly string[], options: HoldfastOptions): Promise<Holdfast> {
    await locks.plain.call("ACL", "SETUSER", documentedUser.username, ...rights);
    const quiet = { disableClientInfo: true, enableReadyCheck: false };
    const redis = locks.server.client({ ...documentedUser, ...quiet });
    const holdfast = new Holdfast(ioredisDriver(redis), options);
    opened.push({ holdfast, redis });
    events.presenceFailed.subscribe(onFailure);
    return holdfast;
  }

  test("without the right to presence is told so once, and has its locks", async () => {
    const holdfast = await user(knownRights, { presence: { everyMs: EVERY_MS } });
    await until(() => failures.length > 0);
    expect(failures).toMatchObject([{ clientId: holdfast.clientId, final: true }]);
    // Another client that is made now tells after the time at which this one would have told again.
    const other = locks.holdfast({ presence: { everyMs: 4 * EVERY_MS } });
    await untilSeen(locks.holdfast(), other.clientId, ({ state }) => state === "there");
    expect(failures).toHaveLength(1);
    await (await holdfast.getLock("order:7").lock()).unlock();
    await expect(holdfast.fleet()).rejects.toMatchObject({ code: "ERR_HOLDFAST_UNAVAILABLE" });
    await locks.plain.call("ACL", "LOG", "RESET");
  });

  test("with the right that the guide names tells, reads and leaves, and is refused nothing", async () => {
    const holdfast = await user([...knownRights, presenceRight], { presence: { everyMs: EVERY_MS } });
    await untilSeen(holdfast, holdfast.clientId, ({ state }) => state === "there");
    await holdfast.close();
    expect(await locks.plain.keys("holdfast_client*")).toEqual([]);
    expect(await locks.plain.call("ACL", "LOG")).toEqual([]);
    expect(failures).toEqual([]);
  });
});

describe("300 clients with as much to tell as they may", () => {
  test("send less than 1 MB a second, and no call takes long", async () => {
    const { plain } = locks;
    const [clients, rounds, everyMs] = [300, 3, 5_000];
    const ids = Array.from({ length: clients }, () => randomUUID());
    const live = `{"holds":[${JSON.stringify(["x".repeat(16_340), "lock", 1, 1, 1, 0])}]}`;
    expect(Buffer.byteLength(live)).toBeLessThanOrEqual(16_384);
    const before = await netInput(plain);
    await plain.config("RESETSTAT");
    for (let beat = 1; beat <= rounds; beat += 1) {
      for (const clientId of ids) {
        const told = {
          group: "default",
          clientId,
          notAfterMs: Number.MAX_SAFE_INTEGER,
          beat,
          everyMs,
          leastMs: everyMs,
        };
        const call = presenceTell.encode({ ...told, keepMs: HOUR_MS, meta: "{}", live });
        await plain.evalsha(...(await known(plain, call)));
      }
    }
    const bytesPerS = ((await netInput(plain)) - before) / ((rounds * everyMs) / 1_000);
    expect(bytesPerS).toBeLessThan(1_000_000);
    const telling = await meanUs(plain);
    await plain.config("RESETSTAT");
    const reader = locks.holdfast();
    const { clients: read } = await reader.fleet();
    expect(read.filter(({ holds }) => holds.length === 1).length).toBe(clients);
    const listing = await meanUs(plain);
    // Means, as a busy machine may hold up a single call.
    expect(Math.max(telling, listing)).toBeLessThan(5_000);
    await plain.del(CLIENTS, ...ids.map(keyOf));
  });

  async function netInput(redis: Redis): Promise<number> {
    return Number(/total_net_input_bytes:(\d+)/.exec(await redis.info("stats"))?.[1]);
  }

  /** How long a script call took on the server. */
  async function meanUs(redis: Redis): Promise<number> {
    const stats = await redis.info("commandstats");
    return Number(/cmdstat_evalsha:calls=\d+,usec=\d+,usec_per_call=([\d.]+)/.exec(stats)?.[1]);
  }

  let loaded: string | undefined;
  async function known(
    redis: Redis,
    { script, keys, args }: ReturnType<typeof presenceTell.encode>,
  ): Promise<[string, number, ...string[]]> {
    loaded ??= String(await redis.script("LOAD", script.lua));
    return [loaded, keys.length, ...keys, ...args];
  }
});
