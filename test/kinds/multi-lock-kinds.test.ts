import { describe, expect, test } from "vitest";
import type { Holdfast } from "../../src/holdfast.js";
import type { Lock } from "../../src/locks/lock.js";
import { fencingTokenKey } from "../../src/protocol/names.js";
import { ObservedDriver } from "../support/drivers/observed-driver.js";
import { until } from "../support/run/until.js";
import { watched } from "../support/run/watched.js";
import { backends, openedFor } from "../support/servers/backends.js";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const NAMES = ["a", "b", "c"];

interface Kind {
  readonly kind: string;
  readonly of: (client: Holdfast, name: string) => Lock;
  /** A lock that is in the way of this kind. */
  readonly rival?: (client: Holdfast, name: string) => Lock;
  /** Its waiters ask again and again, and are told by nobody. */
  readonly polling?: boolean;
}

const kinds: readonly Kind[] = [
  { kind: "plain locks", of: (client, name) => client.getLock(name) },
  { kind: "non-reentrant locks", of: (client, name) => client.getNonReentrantLock(name) },
  { kind: "spin locks", of: (client, name) => client.getSpinLock(name), polling: true },
  { kind: "fenced locks", of: (client, name) => client.getFencedLock(name) },
  { kind: "fair locks", of: (client, name) => client.getFairLock(name) },
  { kind: "fair non-reentrant locks", of: (client, name) => client.getNonReentrantFairLock(name) },
  {
    kind: "read locks",
    of: (client, name) => client.getReadWriteLock(name).readLock(),
    rival: (client, name) => client.getReadWriteLock(name).writeLock(),
  },
  { kind: "write locks", of: (client, name) => client.getReadWriteLock(name).writeLock() },
  {
    kind: "fair read locks",
    of: (client, name) => client.getReadWriteLock(name, { fair: true }).readLock(),
    rival: (client, name) => client.getReadWriteLock(name, { fair: true }).writeLock(),
  },
  {
    kind: "fair write locks",
    of: (client, name) => client.getReadWriteLock(name, { fair: true }).writeLock(),
  },
];

describe.each(backends)("a multi lock on $name", (backend) => {
  const server = openedFor(backend);

  describe.each(kinds)("of three $kind", ({ of, rival = of, polling = false }) => {
    const multiOf = (client: Holdfast) => client.getMultiLock(...NAMES.map((name) => of(client, name)));
    const forgetTokens = () => server().raw("DEL", ...NAMES.map(fencingTokenKey));
    const held = async (client: Holdfast) => {
      const answers = await Promise.all(NAMES.map((name) => of(client, name).isLocked()));
      return NAMES.filter((_, at) => answers[at]);
    };

    test("holds all of them, with or without leaseMs, and releases all of them", async () => {
      const [client, other] = [server().client(), server().client()];
      for (const options of [{}, { leaseMs: MINUTE_MS }]) {
        const lease = await multiOf(client).lock(options);
        expect([lease.state, await held(other)]).toEqual(["held", NAMES]);
        for (const name of NAMES) expect(await rival(other, name).tryLock()).toBeNull();
        await lease.unlock();
        expect([lease.state, await held(other)]).toEqual(["released", []]);
      }
      await forgetTokens();
    });

    test("holds none when one of them is held by somebody else", async () => {
      const [client, other] = [server().client(), server().client()];
      for (const name of NAMES) {
        const lease = await rival(other, name).lock();
        expect(await multiOf(client).tryLock()).toBeNull();
        const others = NAMES.filter((one) => one !== name);
        for (const one of others) await (await rival(other, one).lock({ waitMs: MINUTE_MS })).unlock();
        await lease.unlock();
      }
      await forgetTokens();
    });

    test("waits for the one that is missing, and is had when that is released", async () => {
      let driver: ObservedDriver | undefined;
      const other = server().client();
      const client = server().client(
        { safetyPeriodMs: HOUR_MS },
        (inner) => (driver = new ObservedDriver(inner)),
      );
      const lease = await rival(other, "b").lock({ leaseMs: HOUR_MS });
      const waiting = watched(multiOf(client).lock());
      await driver?.waits({ polling });
      await rival(other, "a").using(() => rival(other, "c").using(() => undefined));
      expect(waiting.outcome).toBeUndefined();
      await lease.unlock();
      await until(() => waiting.outcome !== undefined);
      expect(waiting.outcome).toMatchObject({ value: { state: "held" } });
      expect(await held(other)).toEqual(NAMES);
      if (waiting.outcome && "value" in waiting.outcome) await waiting.outcome.value.unlock();
      await forgetTokens();
    });
  });

  test.each([true, false])("of read locks has one beside its own write lock, fair: %s", async (fair) => {
    const client = server().client();
    const [one, other] = ["a", "b"].map((name) => client.getReadWriteLock(name, { fair }));
    if (one === undefined || other === undefined) throw new Error("there are two");
    const both = client.getMultiLock(one.readLock(), other.readLock());
    const entered = await one.writeLock().using(() => both.tryUsing(({ state }) => state));
    expect(entered).toEqual({ ran: true, value: "held" });
  });
});
