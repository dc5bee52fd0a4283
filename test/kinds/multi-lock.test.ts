import { describe, expect, test } from "vitest";
import { NotHeldError, ReentryError } from "../../src/errors.js";
import type { Holdfast } from "../../src/holdfast.js";
import { fencingTokenKey } from "../../src/protocol/names.js";
import { momentsDriver } from "../support/drivers/moments-driver.js";
import { ScriptedDriver } from "../support/drivers/scripted-driver.js";
import { until } from "../support/run/until.js";
import { watched } from "../support/run/watched.js";
import { backends, openEmbedded, openedFor } from "../support/servers/backends.js";

const MINUTE_MS = 60_000;
const JVM = "3f0c5f9e-6f1d-4a53-9b0e-0c1d2e3f4a5b:57";
const NAMES = ["a", "b", "c"];

const multiOf = (client: Holdfast, names: readonly string[] = NAMES) =>
  client.getMultiLock(...names.map((name) => client.getLock(name)));

describe.each(backends)("a multi lock on $name", (backend) => {
  const server = openedFor(backend);
  const existing = async (names: readonly string[] = NAMES) => {
    const found = await Promise.all(names.map((name) => server().raw("EXISTS", name)));
    return names.filter((_, at) => found[at] === 1);
  };

  test("holds every lock as Redisson stores it, and leaves nothing", async () => {
    const lease = await multiOf(server().client()).lock({ leaseMs: 10_000 });
    expect([lease.state, lease.name, lease.holdCount]).toEqual(["held", "a+b+c", 1]);
    for (const name of NAMES) {
      expect(Object.values(await server().fields(name))).toEqual(["1"]);
      expect(lease.holder).toContain(Object.keys(await server().fields(name))[0]);
      expect(await server().ttlMs(name)).toBeGreaterThan(5_000);
      expect(await server().ttlMs(name)).toBeLessThanOrEqual(10_000);
    }
    await lease.unlock();
    await lease.unlock();
    expect([lease.state, await existing()]).toEqual(["released", []]);
  });

  test.each([
    { waitMs: undefined, leaseMs: undefined },
    { waitMs: undefined, leaseMs: MINUTE_MS },
    { waitMs: 0, leaseMs: undefined },
    { waitMs: 0, leaseMs: MINUTE_MS },
    { waitMs: MINUTE_MS, leaseMs: undefined },
    { waitMs: MINUTE_MS, leaseMs: MINUTE_MS },
  ])(
    "has one holder at a time with waitMs $waitMs and leaseMs $leaseMs [B12] [wire-S17]",
    async (options) => {
      const [first, second] = [multiOf(server().client()), multiOf(server().client())];
      const lease = await first.lock(options);
      expect(await second.tryLock({ ...options, waitMs: 0 })).toBeNull();
      await expect(second.lock({ ...options, waitMs: 5 })).rejects.toMatchObject({
        code: "ERR_HOLDFAST_WAIT_TIMEOUT",
        obstacle: { own: false },
      });
      for (const name of NAMES) {
        const ttlMs = await server().ttlMs(name);
        expect(ttlMs).toBeGreaterThan((options.leaseMs ?? 30_000) / 2);
        expect(ttlMs).toBeLessThanOrEqual(options.leaseMs ?? 30_000);
      }
      const next = second.lock(options).catch(() => undefined);
      await lease.unlock();
      await (await next)?.unlock();
    },
  );

  test("takes all or nothing in tryLock, whichever of the locks is held", async () => {
    const [holder, client] = [server().client(), server().client()];
    for (const name of NAMES) {
      const lease = await holder.getLock(name).lock();
      expect(await multiOf(client).tryLock()).toBeNull();
      await until(async () => (await existing()).length === 1);
      expect(await existing()).toEqual([name]);
      await lease.unlock();
    }
  });

  test.each([
    ["a", "b", "c"],
    ["b", "c", "a"],
    ["c", "b", "a"],
  ])(
    "takes its locks in the one order of their names when given as %s, %s, %s, by one client or by several",
    async (...given) => {
      const asked: string[] = [];
      const clientOf = (name: string) =>
        server().client({}, (driver) =>
          momentsDriver(driver, (moment) => {
            if (moment === "lock-acquire is sent") asked.push(name);
          }),
        );
      const [first] = given.map(clientOf);
      await first?.getMultiLock(...given.map((name) => clientOf(name).getLock(name))).using(() => undefined);
      expect(asked).toEqual(NAMES);
      let scripted: ScriptedDriver | undefined;
      const single = server().client({}, (driver) => (scripted = new ScriptedDriver(driver)));
      await multiOf(single, given).using(() => undefined);
      const acquired = scripted?.calls.filter(({ call }) => call.script.name === "lock-acquire");
      expect(acquired?.map(({ call }) => call.keys)).toEqual([NAMES]);
    },
  );

  test("is had by one of ten that try at once [wire-RedissonMultiLockTest]", async () => {
    const clients = Array.from({ length: 10 }, () => server().client());
    const tries = await Promise.all(clients.map((client) => multiOf(client).tryLock({ leaseMs: 10_000 })));
    const leases = tries.flatMap((lease) => lease ?? []);
    expect(leases).toHaveLength(1);
    await leases[0]?.unlock();
  });

  test("counts one key once, and refuses one key as two kinds of lock [R34]", async () => {
    const [client, other] = [server().client(), server().client()];
    const lock = client.getMultiLock(client.getLock("a"), client.getLock("a"), other.getLock("a"));
    const lease = await lock.lock();
    expect([lock.name, Object.values(await server().fields("a"))]).toEqual(["a", ["1"]]);
    await lease.unlock();
    const pair = client.getReadWriteLock("a");
    expect(() => client.getMultiLock(pair.readLock(), pair.writeLock())).toThrow(TypeError);
    expect(() => client.getMultiLock(client.getLock("a"), client.getFencedLock("a"))).toThrow(
      '"a" is in a multi lock as a',
    );
  });

  test("is made of at least one lock, and of locks of holdfast only", () => {
    const client = server().client();
    const foreign = { name: "a" } as unknown as ReturnType<Holdfast["getLock"]>;
    const text = "a" as unknown as ReturnType<Holdfast["getLock"]>;
    expect(() => client.getMultiLock()).toThrow(new TypeError("a multi lock needs at least one lock"));
    expect(() => client.getMultiLock(foreign)).toThrow(TypeError);
    expect(() => client.getMultiLock(text)).toThrow('got "');
    expect(() => client.getMultiLock(multiOf(client))).toThrow("got MultiLock");
  });

  test("passes its options on to every member, and checks them at the door [B34]", async () => {
    const client = server().client();
    const lock = multiOf(client);
    const lease = await lock.lock({ threadId: 7, leaseMs: MINUTE_MS });
    for (const name of NAMES) {
      expect(await server().fields(name)).toEqual({ [`${client.clientId}:7`]: "1" });
      expect(await server().ttlMs(name)).toBeGreaterThan(MINUTE_MS / 2);
    }
    expect([await lock.isHeldByThread(7), await lock.getHoldCount(7)]).toEqual([true, 1]);
    await lock.unlock(7);
    expect([lease.state, await lock.isHeldByThread(7)]).toEqual(["released", false]);
    await expect(lock.lock({ leaseMs: 0 })).rejects.toThrow(RangeError);
    await expect(lock.lock({ leaseMs: 10, maxHoldMs: 10 })).rejects.toThrow(TypeError);
    await expect(lock.tryLock({ waitMs: 1.5 })).rejects.toThrow("waitMs");
    await expect(lock.lock({ threadId: 2 ** 33 })).rejects.toThrow(NotHeldError);
    await expect(lock.isHeldByThread(0)).rejects.toThrow(RangeError);
  });

  test("answers questions for all of its locks together", async () => {
    const client = server().client();
    const lock = multiOf(client, ["a", "b"]);
    expect([await lock.isLocked(), await lock.remainTimeToLive()]).toEqual([false, -2]);
    const one = await client.getLock("a").lock({ leaseMs: MINUTE_MS });
    expect([await lock.isLocked(), await lock.remainTimeToLive()]).toEqual([false, -2]);
    await one.unlock();
    await lock.using({ leaseMs: MINUTE_MS }, async () => {
      expect([await lock.isLocked(), await lock.isHeldByCurrentThread()]).toEqual([true, true]);
      expect(await lock.getHoldCount()).toBe(1);
      await client.getLock("b").using({ leaseMs: 2 * MINUTE_MS }, async () => {
        expect(await lock.getHoldCount()).toBe(1);
        expect(await lock.remainTimeToLive()).toBeLessThanOrEqual(MINUTE_MS);
      });
    });
    await server().raw("HSET", "a", JVM, "1");
    expect([await lock.forceUnlock(), await lock.forceUnlock()]).toEqual([true, false]);
  });

  test("aborts its signal when one of its locks is forced open; unlock still releases the others [wire-L21]", async () => {
    const client = server().client();
    const lease = await multiOf(client).lock();
    const { signal } = lease;
    await client.getLock("b").forceUnlock();
    expect([lease.state, signal.aborted]).toEqual(["lost", true]);
    expect(signal.reason).toMatchObject({ code: "ERR_HOLDFAST_LEASE_LOST", reason: "stolen" });
    expect(() => lease.assertHeld()).toThrow("a+b+c");
    await expect(lease.unlock()).rejects.toMatchObject({
      code: "ERR_HOLDFAST_NOT_HELD",
      lockName: "a+b+c",
      cause: { reason: "stolen" },
    });
    expect(await existing()).toEqual([]);
  });

  test("tries all members on unlock, and tells that one had been stolen meanwhile [wire-L21]", async () => {
    const lease = await multiOf(server().client()).lock();
    await server().raw("DEL", "a");
    await expect(lease.unlock()).rejects.toThrow(NotHeldError);
    expect(await existing()).toEqual([]);
  });

  test("puts no TTL on a fencing token [wire-S13], and takes locks of every kind together", async () => {
    const [client, other] = [server().client(), server().client()];
    const fenced = client.getFencedLock("b");
    const lock = client.getMultiLock(
      client.getLock("a"),
      fenced,
      client.getSpinLock("c"),
      other.getFairLock("d"),
      client.getReadWriteLock("e").readLock(),
      other.getReadWriteLock("f").writeLock(),
      client.getNonReentrantLock("g"),
      client.getNonReentrantFairLock("h"),
    );
    const all = [..."abcdefgh"];
    await lock.using({ leaseMs: MINUTE_MS }, async () => {
      expect(await existing(all)).toEqual(all);
      expect(await server().ttlMs(fencingTokenKey("b"))).toBe(-1);
      expect([await lock.isLocked(), await fenced.getToken()]).toEqual([true, 1n]);
      const reader = await other.getReadWriteLock("e").readLock().tryLock();
      expect(reader).not.toBeNull();
      await reader?.unlock();
    });
    expect(await existing(all)).toEqual([]);
    await server().raw("DEL", fencingTokenKey("b"));
  });

  test("is entered again inside its body, and so are its members", async () => {
    const client = server().client();
    const lock = multiOf(client, ["a", "b"]);
    await lock.using(async () => {
      await lock.using(async (inner) => {
        expect([inner.holdCount, await lock.getHoldCount()]).toEqual([2, 2]);
      });
      await client.getLock("b").using(async (inner) => expect(inner.holdCount).toBe(2));
      await multiOf(client, ["b", "c"]).using(async (inner) => {
        expect(inner.holdCount).toBe(1);
        expect(Object.values(await server().fields("b"))).toEqual(["2"]);
      });
      expect(Object.values(await server().fields("b"))).toEqual(["1"]);
    });
    expect(await existing()).toEqual([]);
  });

  test("lets siblings inside it enter one after the other", async () => {
    const client = server().client();
    const lock = multiOf(client);
    let [inside, most] = [0, 0];
    const body = async () => {
      inside += 1;
      most = Math.max(most, inside);
      await client.getLock("elsewhere").isLocked();
      inside -= 1;
    };
    await lock.using(() => Promise.all([lock.using(body), lock.using(body), lock.using(body)]));
    expect([inside, most]).toEqual([0, 1]);
  });

  test("refuses re-entry of a member of a non-reentrant kind, and gives back what it has taken", async () => {
    const client = server().client();
    const single = client.getNonReentrantLock("b");
    const lock = client.getMultiLock(client.getLock("a"), single, client.getLock("c"));
    await single.using(async () => {
      await expect(lock.lock()).rejects.toThrow(ReentryError);
      await expect(lock.tryLock()).rejects.toThrow(ReentryError);
      await until(async () => (await existing()).length === 1);
      expect(await existing()).toEqual(["b"]);
    });
  });

  test("is taken and released in Redisson's style inside asThread", async () => {
    const client = server().client();
    const lock = multiOf(client);
    await client.asThread(async () => {
      const first = await lock.lock();
      const second = await lock.tryLock();
      expect(await lock.getHoldCount()).toBe(2);
      await lock.unlock();
      expect([first.state, second?.state]).toEqual(["held", "released"]);
      expect(await lock.isHeldByCurrentThread()).toBe(true);
      await lock.unlock();
      await expect(lock.unlock()).rejects.toThrow(NotHeldError);
    });
    await expect(lock.unlock()).rejects.toThrow(NotHeldError);
    expect(await existing()).toEqual([]);
  });

  test("waits while one lock is held, and holds none of the others meanwhile", async () => {
    const drivers: ScriptedDriver[] = [];
    const holder = server().client();
    const client = server().client({}, (driver) => {
      const scripted = new ScriptedDriver(driver);
      drivers.push(scripted);
      return scripted;
    });
    const lease = await holder.getLock("b").lock();
    const waiting = watched(multiOf(client).lock());
    await until(() => drivers.some(({ channels }) => channels.asked.includes("redisson_lock__channel:{b}")));
    await until(async () => (await existing()).length === 1);
    const others = await multiOf(holder, ["a", "c"]).tryLock();
    expect(others).not.toBeNull();
    await others?.unlock();
    expect(waiting.outcome).toBeUndefined();
    await lease.unlock();
    await until(() => waiting.outcome !== undefined);
    expect(waiting.outcome).toMatchObject({ value: { state: "held" } });
    if (waiting.outcome && "value" in waiting.outcome) await waiting.outcome.value.unlock();
  });
});

test("one name on two servers is two locks [R34]", async () => {
  const servers = [openEmbedded(), openEmbedded()];
  const [first, second] = servers.map((server) => server.client());
  if (first === undefined || second === undefined) throw new Error("there are two");
  const lock = first.getMultiLock(first.getLock("a"), second.getLock("a"));
  await lock.using(async () => {
    for (const server of servers) expect(Object.values(await server.fields("a"))).toEqual(["1"]);
    expect(await second.getLock("a").tryLock({ threadId: 9 })).toBeNull();
  });
  for (const server of servers) {
    expect(await server.keys()).toEqual([]);
    await server.close();
  }
});
