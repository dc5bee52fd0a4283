import { beforeEach, describe, expect, test } from "vitest";
import type { Lease } from "../../src/lease.js";
import type { Lock } from "../../src/locks/lock.js";
import { journalArgs, type KeyJournal, keepJournal } from "../support/key-journal.js";
import { locksOnRedis } from "../support/locks-on-redis.js";
import { cutBeforeForward, dropNextReply } from "../support/proxy-faults.js";
import type { ClientOptions } from "../support/redis-server.js";
import type { Fault, TcpProxy } from "../support/tcp-proxy.js";
import { until } from "../support/until.js";

const redis = locksOnRedis({ args: journalArgs });
const KEY = "order:7";
const FREED = `0 -> redisson_lock__channel:{${KEY}}`;
const HOUR_MS = 3_600_000;

/** What users of ioredis choose. Some resend by themselves, some tell of each broken connection at once. */
const clients: readonly { readonly client: string; readonly connection: ClientOptions }[] = [
  { client: "the defaults of ioredis", connection: {} },
  { client: "maxRetriesPerRequest 0", connection: { maxRetriesPerRequest: 0 } },
  { client: "maxRetriesPerRequest 1", connection: { maxRetriesPerRequest: 1 } },
  { client: "maxRetriesPerRequest null", connection: { maxRetriesPerRequest: null } },
  { client: "no resending", connection: { autoResendUnfulfilledCommands: false } },
  { client: "no offline queue", connection: { enableOfflineQueue: false } },
  {
    client: "everything fails fast",
    connection: { enableOfflineQueue: false, maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false },
  },
  { client: "a command timeout of its own", connection: { commandTimeout: 200 } },
  { client: "automatic pipelines", connection: { enableAutoPipelining: true } },
  { client: "RESP2", connection: { protocol: 2 } },
];

const losses: readonly { readonly loss: string; fault(on: string): Fault }[] = [
  { loss: "the reply is lost", fault: (on) => dropNextReply({ on }) },
  { loss: "the request is lost", fault: (on) => cutBeforeForward({ on }) },
];

describe.each(clients)("with $client", ({ connection }) => {
  describe.each(losses)("when $loss", ({ fault }) => {
    let proxy: TcpProxy;
    let lock: Lock;
    let journal: KeyJournal;
    beforeEach(async () => {
      proxy = await redis.proxy();
      journal = await keepJournal(redis.server);
      const holdfast = redis.holdfast({ watchdogMs: 900 }, { port: proxy.port, ...connection });
      // So that all scripts but that of the renewal are known, and go by their short name.
      await redis.plain.ping();
      await until(() =>
        holdfast
          .getLock("acquaintance")
          .isLocked()
          .then(
            () => true,
            () => false,
          ),
      );
      lock = holdfast.getLock(KEY);
      await (await lock.lock()).unlock();
      await journal.read();
    });

    /** Loses the next command about the lock while the work is under way. */
    async function losing<T>(work: () => Promise<T>): Promise<T> {
      const { struck } = proxy.inject(fault(KEY));
      const [result] = await Promise.all([work(), struck]);
      return result;
    }

    async function freed(lease: Lease): Promise<void> {
      await lease.unlock();
      expect(await redis.plain.exists(KEY)).toBe(0);
    }

    test("an acquisition counts once [B15] [wire-S1]", async () => {
      const lease = await losing(() => lock.lock({ leaseMs: HOUR_MS }));
      expect(await redis.plain.hgetall(KEY)).toEqual({ [lease.holder]: "1" });
      expect(lease.state).toBe("held");
      await freed(lease);
    });

    test("an entry once more counts once", async () => {
      const outer = await lock.lock({ leaseMs: HOUR_MS });
      const inner = await losing(() => lock.lock({ leaseMs: HOUR_MS, threadId: outer.threadId }));
      expect(await redis.plain.hgetall(KEY)).toEqual({ [outer.holder]: "2" });
      await inner.unlock();
      expect(await redis.plain.hgetall(KEY)).toEqual({ [outer.holder]: "1" });
      await freed(outer);
    });

    test("a release is done once and succeeds [B14] [R30]", async () => {
      const lease = await lock.lock({ leaseMs: HOUR_MS });
      await journal.read();
      await losing(() => lease.unlock());
      expect(lease.state).toBe("released");
      expect(await journal.read()).toEqual([`del ${KEY}`, FREED]);
    });

    test("a partial release is done once and succeeds", async () => {
      const outer = await lock.lock({ leaseMs: HOUR_MS });
      const inner = await lock.lock({ leaseMs: HOUR_MS, threadId: outer.threadId });
      await losing(() => inner.unlock());
      expect(await redis.plain.hgetall(KEY)).toEqual({ [outer.holder]: "1" });
      expect(outer.state).toBe("held");
      await freed(outer);
    });

    test("a renewal is made up for before the lease ends", async () => {
      const lease = await lock.lock();
      const { signal } = lease;
      await losing(async () => undefined);
      const taken = await redis.plain.hgetall(KEY);
      await until(async () => (await journal.read()).includes(`expire ${KEY}`) && lease.remainingMs() > 700);
      expect([lease.state, signal.aborted]).toEqual(["held", false]);
      expect(await redis.plain.hgetall(KEY)).toEqual(taken);
      await freed(lease);
    });
  });
});
