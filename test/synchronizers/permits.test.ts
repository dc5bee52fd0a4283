import { afterEach, describe, expect, test } from "vitest";
import { NotHeldError, WaitTimeoutError } from "../../src/errors.js";
import type { Holdfast } from "../../src/holdfast.js";
import { ObservedDriver } from "../support/drivers/observed-driver.js";
import { gate } from "../support/run/gate.js";
import { watchLeaks } from "../support/run/leaks.js";
import { until } from "../support/run/until.js";
import { backends, openedFor } from "../support/servers/backends.js";
import { isRequestKey } from "../support/servers/request-keys.js";
import { CHANNEL, EXPIRIES, type PermitExpirableSemaphore } from "../support/worlds/permit-time.js";

watchLeaks();
const HOUR_MS = 3_600_000;
/** Of nobody's permit. */
const UNKNOWN = "0123456789abcdef0123456789abcdef";

describe.each(backends)("a permit-expirable semaphore on $name", (backend) => {
  const server = openedFor(backend);
  afterEach(() => server().raw("DEL", "a", EXPIRIES));

  /** Of a client of its own, which only a message or an expiry makes ask again. */
  function semaphore(): PermitExpirableSemaphore {
    return server().client({ safetyPeriodMs: HOUR_MS }).getPermitExpirableSemaphore("a");
  }

  async function semaphoreWith(permits: number): Promise<PermitExpirableSemaphore> {
    const made = semaphore();
    await made.trySetPermits(permits);
    return made;
  }

  async function serverMs(): Promise<number> {
    const time = await server().raw("TIME");
    if (!Array.isArray(time)) throw new TypeError("not a list");
    const [seconds, microseconds] = time.map(Number);
    return Number(seconds) * 1_000 + Number(microseconds) / 1_000;
  }

  /** Resolves when the server's clock has moved on by so much. */
  async function passed(ms: number): Promise<void> {
    const endMs = (await serverMs()) + ms;
    await until(async () => (await serverMs()) > endMs);
  }

  /** An id that has expired, and whose permit nobody has taken back yet. */
  async function expiredId(of: PermitExpirableSemaphore): Promise<string> {
    const { ids } = await of.acquire({ leaseMs: HOUR_MS });
    await of.updateLeaseTime(ids, 1);
    await passed(2);
    return only(ids);
  }

  /** The semaphore for somebody who waits, and what resolves when his call has been refused and waits for a message. */
  function observed() {
    let driver: ObservedDriver | undefined;
    const client = server().client({ safetyPeriodMs: HOUR_MS }, (inner) => {
      driver = new ObservedDriver(inner);
      return driver;
    });
    return { waiter: client.getPermitExpirableSemaphore("a"), waits: () => driver?.waits() };
  }

  /** All that is stored but for the requests, which fall by themselves. */
  const keys = async () => (await server().keys()).filter((key) => !isRequestKey(key)).sort();

  const counts = async (of: PermitExpirableSemaphore) => ({
    available: await of.availablePermits(),
    acquired: await of.acquiredPermits(),
    total: await of.getPermits(),
  });

  test("has nothing to give, and nothing to delete or to lengthen, before it is set", async () => {
    const unset = semaphore();
    expect(await counts(unset)).toEqual({ available: 0, acquired: 0, total: 0 });
    expect(await unset.tryAcquire()).toBeNull();
    expect(await unset.tryRelease(UNKNOWN)).toBe(false);
    expect(await unset.updateLeaseTime(UNKNOWN, 1_000)).toBe(false);
    expect(await unset.delete()).toBe(false);
    expect(await keys()).toEqual([]);
  });

  test("gives as many permits as it has, each with an id of its own, and then null", async () => {
    const two = await semaphoreWith(2);
    const [first, second] = [await two.tryAcquire(), await two.tryAcquire()];
    expect(await two.tryAcquire()).toBeNull();
    const ids = [...(first?.ids ?? []), ...(second?.ids ?? [])];
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(new Set(ids).size).toBe(2);
    expect(await counts(two)).toEqual({ available: 0, acquired: 2, total: 2 });
  });

  test("answers null and not an error when it is exhausted and knows when the next permit expires [wire-L19]", async () => {
    const one = await semaphoreWith(1);
    await one.acquire({ leaseMs: HOUR_MS });
    expect(await one.tryAcquire()).toBeNull();
    expect(await one.tryAcquire(1, { leaseMs: 1_000 })).toBeNull();
    expect(await one.tryAcquire({ waitMs: 1 })).toBeNull();
  });

  test("takes permits back by the handle, by one id and by a list of ids, from whichever client", async () => {
    const [five, other] = [await semaphoreWith(5), semaphore()];
    const [handle, single, several] = [await five.acquire(), await five.acquire(), await five.acquire(3)];
    await handle.release();
    await other.release(only(single.ids));
    await other.release(several.ids);
    expect(await counts(other)).toEqual({ available: 5, acquired: 0, total: 5 });
  });

  test("takes a part of the permits of one acquisition back, and the rest later", async () => {
    const five = await semaphoreWith(5);
    const { ids } = await five.acquire(4);
    expect(ids).toHaveLength(4);
    expect(await five.tryRelease(ids.slice(0, 1))).toBe(true);
    expect(await counts(five)).toEqual({ available: 2, acquired: 3, total: 5 });
    expect(await five.tryRelease(ids.slice(1))).toBe(true);
    expect(await counts(five)).toEqual({ available: 5, acquired: 0, total: 5 });
  });

  test("gives many permits only when it has them all", async () => {
    const three = await semaphoreWith(3);
    expect(await three.tryAcquire(4)).toBeNull();
    const two = await three.tryAcquire(2);
    expect(await three.tryAcquire(2)).toBeNull();
    expect(await counts(three)).toEqual({ available: 1, acquired: 2, total: 3 });
    await two?.release();
    expect((await three.tryAcquire(3))?.ids).toHaveLength(3);
  });

  test("takes each permit back once", async () => {
    const two = await semaphoreWith(2);
    const { ids } = await two.acquire();
    expect(await two.tryRelease(ids)).toBe(true);
    expect(await two.tryRelease(ids)).toBe(false);
    await expect(two.release(ids)).rejects.toBeInstanceOf(NotHeldError);
    expect(await two.availablePermits()).toBe(2);
  });

  test("counts a permit once when its id stands twice in a list", async () => {
    const two = await semaphoreWith(2);
    const [id = ""] = (await two.acquire()).ids;
    await two.tryRelease([id, id]).catch(() => undefined);
    expect(await two.getPermits()).toBe(2);
    expect(await two.availablePermits()).toBeLessThanOrEqual(2);
  });

  test("refuses to take an expired permit back, and does not call that a success [B27]", async () => {
    const two = await semaphoreWith(2);
    expect(await two.tryRelease(await expiredId(two))).toBe(false);
    await expect(two.release(await expiredId(two))).rejects.toBeInstanceOf(NotHeldError);
    expect(await counts(two)).toEqual({ available: 2, acquired: 0, total: 2 });
  });

  test.each(["unknown", "expired"] as const)(
    "takes nothing of a list back of which one id is %s [B27]",
    async (which) => {
      const four = await semaphoreWith(4);
      const { ids } = await four.acquire(2);
      const other = which === "unknown" ? UNKNOWN : await expiredId(four);
      for (const list of [
        [...ids, other],
        [other, ...ids],
      ]) {
        expect(await four.tryRelease(list)).toBe(false);
        await expect(four.release(list)).rejects.toBeInstanceOf(NotHeldError);
      }
      expect(await counts(four)).toEqual({ available: 2, acquired: 2, total: 4 });
    },
  );

  test("gives an expired permit that somebody tries to release back once, and tells the waiters [wire-A10]", async () => {
    const one = await semaphoreWith(1);
    const id = await expiredId(one);
    const told = await server().listen(CHANNEL);
    expect(await one.tryRelease(id)).toBe(false);
    expect(await server().raw("GET", "a")).toBe("1");
    expect(await one.tryRelease(id)).toBe(false);
    expect(await server().raw("GET", "a")).toBe("1");
    await until(() => told.length > 0);
    expect(told).toEqual(["1"]);
  });

  test("counts expired permits as available, and no permit twice, whoever asks first [B27]", async () => {
    const asks: [string, (of: PermitExpirableSemaphore) => Promise<number>, number][] = [
      ["availablePermits", (of) => of.availablePermits(), 2],
      ["acquiredPermits", (of) => of.acquiredPermits(), 1],
      ["getPermits", (of) => of.getPermits(), 3],
    ];
    for (const [name, ask, answer] of asks) {
      const three = await semaphoreWith(3);
      await three.acquire();
      await expiredId(three);
      await three.acquire({ leaseMs: HOUR_MS }).then((permits) => permits.release());
      await expiredId(three);
      expect([name, await ask(three)]).toEqual([name, answer]);
      expect(await counts(three)).toEqual({ available: 2, acquired: 1, total: 3 });
      await three.delete();
    }
  });

  test("is not overwritten by trySetPermits while all its permits are taken [B27]", async () => {
    const two = await semaphoreWith(2);
    const { ids } = await two.acquire(2);
    expect(await two.trySetPermits(5)).toBe(false);
    expect(await counts(two)).toEqual({ available: 0, acquired: 2, total: 2 });
    await two.release(ids);
    expect(await two.trySetPermits(5)).toBe(false);
    expect(await two.getPermits()).toBe(2);
  });

  test("leaves no key behind when it is deleted, also while permits are taken [B27]", async () => {
    const two = await semaphoreWith(2);
    const permits = await two.acquire({ leaseMs: HOUR_MS });
    expect(await two.delete()).toBe(true);
    expect(await two.delete()).toBe(false);
    expect(await keys()).toEqual([]);
    await expect(permits.release()).rejects.toBeInstanceOf(NotHeldError);
    expect(await keys()).toEqual([]);
  });

  test("leaves no key behind when its time is up, also while permits are taken for longer [B27]", async () => {
    const short = semaphore();
    expect(await short.trySetPermits(2, { ttlMs: 150 })).toBe(true);
    await short.acquire({ leaseMs: HOUR_MS });
    const ttlMs = await server().ttlMs(EXPIRIES);
    expect(ttlMs).toBeGreaterThan(0);
    expect(ttlMs).toBeLessThanOrEqual(150);
    await until(async () => Number(await server().raw("EXISTS", "a", EXPIRIES)) === 0);
    expect(await counts(short)).toEqual({ available: 0, acquired: 0, total: 0 });
  });

  test("gets a permit back when its lease ends, and knows its id no more", async () => {
    const one = await semaphoreWith(1);
    const { ids } = await one.acquire({ leaseMs: 100 });
    const next = await semaphore().acquire({ waitMs: 10_000 });
    expect(await one.tryRelease(ids)).toBe(false);
    expect(await one.acquiredPermits()).toBe(1);
    await next.release();
  });

  test("keeps permits without a lease until they are released", async () => {
    const two = await semaphoreWith(2);
    const permits = await two.acquire();
    expect(permits.remainingMs()).toBe(Number.POSITIVE_INFINITY);
    expect(await two.getLeaseTime(only(permits.ids))).toBe(-1);
    expect(permits.state).toBe("held");
    await permits.release();
    expect(permits.state).toBe("released");
  });

  test("tells how long a permit has left, and of an unknown or expired one that nobody holds it", async () => {
    const two = await semaphoreWith(2);
    const { ids } = await two.acquire({ leaseMs: HOUR_MS });
    const leftMs = await two.getLeaseTime(only(ids));
    expect(leftMs).toBeLessThanOrEqual(HOUR_MS);
    expect(leftMs).toBeGreaterThan(HOUR_MS - 15_000);
    await expect(two.getLeaseTime(UNKNOWN)).rejects.toBeInstanceOf(NotHeldError);
    await expect(two.getLeaseTime(await expiredId(two))).rejects.toBeInstanceOf(NotHeldError);
  });

  test("changes the lease of a permit, of several, of a permanent one, and not of one that is gone", async () => {
    const five = await semaphoreWith(5);
    const leases = [await five.acquire({ leaseMs: HOUR_MS }), await five.acquire(2)];
    const ids = leases.flatMap((permits) => permits.ids);
    expect(await five.updateLeaseTime(only(leases[0]?.ids ?? []), 20_000)).toBe(true);
    expect(await five.getLeaseTime(ids[0] ?? "")).toBeLessThanOrEqual(20_000);
    expect(await five.updateLeaseTime(ids, 2 * HOUR_MS)).toBe(true);
    for (const id of ids) expect(await five.getLeaseTime(id)).toBeGreaterThan(HOUR_MS);
    const gone = await expiredId(five);
    expect(await five.updateLeaseTime(gone, 1_000)).toBe(false);
    expect(await five.updateLeaseTime(UNKNOWN, 1_000)).toBe(false);
    await five.release(ids);
    expect(await five.updateLeaseTime(ids, 1_000)).toBe(false);
    expect(await counts(five)).toEqual({ available: 5, acquired: 0, total: 5 });
  });

  test("changes the lease of no permit of a list of which one is gone", async () => {
    const two = await semaphoreWith(2);
    const [id = ""] = (await two.acquire({ leaseMs: HOUR_MS })).ids;
    expect(await two.updateLeaseTime([id, UNKNOWN], 1_000)).toBe(false);
    expect(await two.updateLeaseTime([id, await expiredId(two)], 1_000)).toBe(false);
    expect(await two.getLeaseTime(id)).toBeGreaterThan(1_000);
  });

  test("is set once", async () => {
    const set = semaphore();
    expect(await set.trySetPermits(10)).toBe(true);
    expect(await set.trySetPermits(15)).toBe(false);
    expect(await set.availablePermits()).toBe(10);
  });

  test("is set to a total, up, to the same, and down below what is acquired", async () => {
    const set = semaphore();
    await set.setPermits(5);
    const { ids } = await set.acquire(3);
    for (const [total, available] of [
      [8, 5],
      [8, 5],
      [5, 2],
      [2, -1],
    ] as const) {
      await set.setPermits(total);
      expect(await counts(set)).toEqual({ available, acquired: 3, total });
    }
    expect(await set.tryAcquire()).toBeNull();
    await set.release(ids);
    expect(await counts(set)).toEqual({ available: 2, acquired: 0, total: 2 });
  });

  test("gets permits added and taken away, also when it was not set", async () => {
    const grown = semaphore();
    await grown.addPermits(5);
    await grown.addPermits(-2);
    expect(await counts(grown)).toEqual({ available: 3, acquired: 0, total: 3 });
    await grown.acquire(2);
    await grown.addPermits(-2);
    expect(await counts(grown)).toEqual({ available: -1, acquired: 2, total: 1 });
  });

  test("keeps its TTL when permits are added [wire-A9]", async () => {
    const short = semaphore();
    await short.trySetPermits(1, { ttlMs: HOUR_MS });
    await short.addPermits(2);
    const ttlMs = await server().ttlMs("a");
    expect(ttlMs).toBeGreaterThan(0);
    expect(ttlMs).toBeLessThanOrEqual(HOUR_MS);
  });

  test("tells numbers of at least 1 only, which any listener understands", async () => {
    const told = await server().listen(CHANNEL);
    const any = semaphore();
    await any.trySetPermits(2);
    await any.acquire(2);
    await any.addPermits(-5);
    await any.setPermits(1);
    await any.addPermits(0);
    await any.addPermits(9);
    const mark = "the end";
    await server().raw("PUBLISH", CHANNEL, mark);
    await until(() => told.includes(mark));
    for (const message of told.slice(0, -1)) expect(message).toMatch(/^[1-9]\d*$/);
  });

  test.each<[string, (of: PermitExpirableSemaphore, ids: readonly string[]) => Promise<unknown>]>([
    ["a release", (of, ids) => of.release(ids)],
    ["permits that are added", (of) => of.addPermits(2)],
    ["a greater total", (of) => of.setPermits(4)],
    ["a new setting after it was deleted", async (of) => (await of.delete()) && of.trySetPermits(2)],
  ])("lets a waiter of another client in by the message of %s", async (_, change) => {
    const two = await semaphoreWith(2);
    const { ids } = await two.acquire(2);
    const { waiter, waits } = observed();
    const entering = waiter.acquire(2);
    await waits();
    await change(two, ids);
    expect((await entering).ids).toHaveLength(2);
  });

  test("lets who waited for its first setting in", async () => {
    const { waiter, waits } = observed();
    const entering = waiter.acquire();
    await waits();
    await semaphoreWith(1);
    const lease = await entering;
    expect(lease.ids).toHaveLength(1);
    await lease.release();
  });

  test("gives waiters of two permits, and of one and of two, their turns [B28]", async () => {
    for (const wanted of [
      [2, 2],
      [1, 2],
      [2, 1],
    ]) {
      const two = await semaphoreWith(2);
      const turns = wanted.map(async (permits) => {
        const held = await semaphore().acquire(permits, { waitMs: 10_000, leaseMs: HOUR_MS });
        expect(held.ids).toHaveLength(permits);
        await held.release();
      });
      await Promise.all(turns);
      expect(await counts(two)).toEqual({ available: 2, acquired: 0, total: 2 });
      await two.delete();
    }
  });

  test("waits no longer than it was told to, and leaves nothing behind", async () => {
    const one = await semaphoreWith(1);
    const permits = await one.acquire();
    const other = semaphore();
    expect(await other.tryAcquire({ waitMs: 20 })).toBeNull();
    await expect(other.acquire({ waitMs: 20 })).rejects.toBeInstanceOf(WaitTimeoutError);
    await expect(other.using({ waitMs: 20 }, () => "never")).rejects.toBeInstanceOf(WaitTimeoutError);
    await permits.release();
    expect(await counts(one)).toEqual({ available: 1, acquired: 0, total: 1 });
  });

  test("rejects a cancelled wait with the reason of its signal, and leaves nothing behind", async () => {
    const one = await semaphoreWith(1);
    const permits = await one.acquire();
    const leaving = new AbortController();
    const { waiter, waits } = observed();
    const waiting = waiter.acquire({ signal: leaving.signal });
    await waits();
    leaving.abort(new Error("changed my mind"));
    await expect(waiting).rejects.toThrow("changed my mind");
    await expect(semaphore().tryAcquire({ signal: leaving.signal })).rejects.toThrow("changed my mind");
    await permits.release();
    expect(await counts(one)).toEqual({ available: 1, acquired: 0, total: 1 });
  });

  test("takes permits back after the body that they were for, also when that throws", async () => {
    const three = await semaphoreWith(3);
    const acquired = () => three.acquiredPermits();
    expect(await three.using(async (permits) => [permits.ids.length, await acquired()])).toEqual([1, 1]);
    expect(await three.using(2, acquired)).toBe(2);
    expect(await three.using({ leaseMs: HOUR_MS }, acquired)).toBe(1);
    expect(await three.using(3, { watchdog: true }, acquired)).toBe(3);
    const failing = three.using(2, () => {
      throw new Error("failed");
    });
    await expect(failing).rejects.toThrow("failed");
    expect(await counts(three)).toEqual({ available: 3, acquired: 0, total: 3 });
  });

  test("takes permits back at the end of `await using`", async () => {
    const two = await semaphoreWith(2);
    const inScope = async () => {
      await using permits = await two.acquire(2);
      expect(await two.acquiredPermits()).toBe(permits.ids.length);
    };
    await inScope();
    expect(await two.availablePermits()).toBe(2);
  });

  test("lets as many bodies in at once as it has permits, and no more", async () => {
    const three = await semaphoreWith(3);
    const clients = [three, semaphore(), semaphore()];
    const { opened, open } = gate();
    let [inside, most] = [0, 0];
    const visits = Array.from({ length: 24 }, (_, i) =>
      clients[i % 3]?.using({ leaseMs: HOUR_MS }, async () => {
        inside += 1;
        most = Math.max(most, inside);
        if (inside === 3) open();
        await opened;
        await new Promise(setImmediate);
        inside -= 1;
      }),
    );
    await Promise.all(visits);
    expect(most).toBe(3);
    expect(await counts(three)).toEqual({ available: 3, acquired: 0, total: 3 });
  });

  test("has its keys and its channel under the mapped name", async () => {
    const client: Holdfast = server().client({ nameMapper: (name) => name.replace("app:", "") });
    const mapped = client.getPermitExpirableSemaphore("app:a");
    const told = await server().listen(CHANNEL);
    expect(mapped.name).toBe("app:a");
    await mapped.trySetPermits(1);
    await mapped.acquire();
    expect(await keys()).toEqual(["a", EXPIRIES].sort());
    await until(() => told.length > 0);
    expect(await mapped.delete()).toBe(true);
  });
});

function only(ids: readonly string[]): string {
  const [id, ...others] = ids;
  if (id === undefined || others.length > 0) throw new Error(`${ids.length} ids, and not one`);
  return id;
}
