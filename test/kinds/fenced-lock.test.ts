import { describe, expect, test } from "vitest";
import { fencingTokenKey } from "../../src/protocol/names.js";
import type { CallFault } from "../support/drivers/scripted-driver.js";
import { deliverTwice, loseReply } from "../support/faults/call-faults.js";
import { backends, openedFor } from "../support/servers/backends.js";
import { fakeTime } from "../support/worlds/fake-time.js";

const NAME = "order:7";
const TOKEN = fencingTokenKey(NAME);
const MINUTE_MS = 60_000;
const JVM = "3f0c5f9e-6f1d-4a53-9b0e-0c1d2e3f4a5b:57";

describe.each(backends)("a fenced lock on $name", (backend) => {
  const server = openedFor(backend);
  const forgetTokens = () => server().raw("DEL", TOKEN);

  test("draws a greater token for each acquisition, re-entries included, and none for a release", async () => {
    const lock = server().client().getFencedLock(NAME);
    expect(await lock.getToken()).toBeNull();
    const first = await lock.lock();
    expect([first.token, await lock.getToken()]).toEqual([1n, 1n]);
    await first.unlock();
    await lock.using(async (outer) => {
      const inner = await lock.lock({ leaseMs: MINUTE_MS });
      expect([outer.token, inner.token]).toEqual([2n, 3n]);
      await inner.unlock();
    });
    const tried = await lock.tryLock({ waitMs: 10 });
    expect([tried?.token, await lock.getToken()]).toEqual([4n, 4n]);
    await tried?.unlock();
    expect(await lock.getToken()).toBe(4n);
    await forgetTokens();
  });

  test("goes on with the counter of Redisson, where a plain lock of the same name excludes and draws none", async () => {
    await server().raw("SET", TOKEN, "41");
    const holdfast = server().client();
    const plain = await holdfast.getLock(NAME).lock();
    expect(await holdfast.getFencedLock(NAME).tryLock()).toBeNull();
    await plain.unlock();
    const lease = await holdfast.getFencedLock(NAME).lock();
    expect([lease.token, await server().raw("GET", TOKEN)]).toEqual([42n, "42"]);
    await lease.unlock();
    await forgetTokens();
  });

  test("makes one attempt in tryLock, and honours the lease that is asked for [wire-L18] [B42]", async () => {
    const [holdfast, other] = [server().client(), server().client()];
    const lease = await holdfast.getFencedLock(NAME).lock({ leaseMs: MINUTE_MS });
    const ttlMs = await server().ttlMs(NAME);
    expect(ttlMs).toBeGreaterThan(MINUTE_MS / 2);
    expect(ttlMs).toBeLessThanOrEqual(MINUTE_MS);
    expect(await other.getFencedLock(NAME).tryLock()).toBeNull();
    await lease.unlock();
    await forgetTokens();
  });

  test("is refused, and not taken with a token of -1, while a lock without a TTL is held [wire-S12]", async () => {
    await server().raw("HSET", NAME, JVM, "1");
    const lock = server().client().getFencedLock(NAME);
    expect(await lock.tryLock()).toBeNull();
    await expect(lock.lock({ waitMs: 5 })).rejects.toMatchObject({
      code: "ERR_HOLDFAST_WAIT_TIMEOUT",
      obstacle: { holder: JVM, ttlMs: -1 },
    });
    expect([await server().fields(NAME), await lock.getToken()]).toEqual([{ [JVM]: "1" }, null]);
    await server().raw("DEL", NAME);
  });

  test("never gives its counter a TTL, and takes one off that somebody else has given it [wire-S13]", async () => {
    await server().raw("SET", TOKEN, "5", "PX", MINUTE_MS);
    const lock = server().client().getFencedLock(NAME);
    await lock.using({ leaseMs: MINUTE_MS }, async ({ token }) => {
      expect([token, await server().ttlMs(TOKEN)]).toEqual([6n, -1]);
    });
    await lock.forceUnlock();
    expect(await lock.getToken()).toBe(6n);
    await forgetTokens();
  });

  test("answers tokens beyond 2^53 to the last digit [R15]", async () => {
    await server().raw("SET", TOKEN, "9007199254740993");
    const lock = server().client().getFencedLock(NAME);
    const lease = await lock.lock();
    expect([lease.token, await lock.getToken()]).toEqual([9_007_199_254_740_994n, 9_007_199_254_740_994n]);
    await lease.unlock();
    await forgetTokens();
  });

  test("is refused where the counter is something else, and holds nothing then", async () => {
    await server().raw("RPUSH", TOKEN, "no counter");
    const lock = server().client().getFencedLock(NAME);
    await expect(lock.tryLock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_WRONG_TYPE", type: "list" });
    expect(await server().raw("EXISTS", NAME)).toBe(0);
    await forgetTokens();
  });

  test("gives waiters in turn tokens that grow", async () => {
    const clients = [server().client(), server().client()];
    const tokens: bigint[] = [];
    const visit = (client: (typeof clients)[number]) =>
      client.getFencedLock(NAME).using(({ token }) => void tokens.push(token));
    await Promise.all([...clients, ...clients, ...clients].map(visit));
    expect(tokens).toEqual([1n, 2n, 3n, 4n, 5n, 6n]);
    await forgetTokens();
  });
});

describe.each<CallFault>([loseReply, deliverTwice])("an acquisition that meets: $name", (fault) => {
  const open = fakeTime();

  test(`draws one token and is held with it (${fault.name}) [wire-S11]`, async () => {
    const time = open();
    const lock = time.holdfast.getFencedLock(NAME);
    void time.driver.next(fault, "lock-acquire");
    const call = lock.lock({ leaseMs: MINUTE_MS });
    await time.clock.advance(1_000);
    const lease = await call;
    expect([lease.token, time.server.command("GET", TOKEN), time.fields(NAME)]).toEqual([
      1n,
      "1",
      { [lease.holder]: "1" },
    ]);
    const unlocked = lease.unlock();
    await time.clock.advance(1_000);
    await unlocked;
    time.server.command("DEL", TOKEN);
  });
});
