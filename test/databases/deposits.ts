import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { Holdfast } from "../../src/holdfast.js";
import type { FencedLock } from "../../src/index.js";
import { type RedisServer, startRedis } from "../support/servers/redis-server.js";

const CLIENTS = 3;
const TIMES = 4;
const CENTS = 5;

export interface Account {
  /** What the guide shows below the guard. */
  deposit(lock: FencedLock, cents: number): Promise<void>;
  balance(): Promise<number>;
}

/** Runs what the guide shows as the use of a guard, by several clients at once. */
export function describeDeposits(open: () => Account | Promise<Account>): void {
  let redis: RedisServer | undefined;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis?.stop());
  const opened: { readonly client: Redis; readonly holdfast: Holdfast }[] = [];
  afterEach(async () => {
    for (const { client, holdfast } of opened.splice(0)) {
      await holdfast.close();
      client.disconnect();
    }
  });

  describe("the use that the guide shows", () => {
    test("adds up what several clients pay in at once", async () => {
      const account = await open();
      const port = redis?.port ?? 0;
      for (let nth = 0; nth < CLIENTS; nth += 1) {
        const client = new Redis({ host: "127.0.0.1", port });
        opened.push({ client, holdfast: new Holdfast(ioredisDriver(client)) });
      }
      const before = await account.balance();
      const deposits = opened.flatMap(({ holdfast }) => {
        const lock = holdfast.getFencedLock("account:7");
        return Array.from({ length: TIMES }, () => account.deposit(lock, CENTS));
      });
      await Promise.all(deposits);
      expect((await account.balance()) - before).toBe(CLIENTS * TIMES * CENTS);
    });
  });
}
