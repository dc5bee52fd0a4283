import { expect } from "vitest";
import type { Chapter } from "./behaviour.js";

export const character: Chapter = {
  title: "Differences between the kinds",
  behaviours: [
    {
      promise: "serves waiters in the order of their arrival, even across clients",
      hangsOnDrivers: true,
      needs: "order",
      async run({ client, lock, waits }) {
        const lease = await lock(client()).lock();
        const entered: number[] = [];
        const waiting: Promise<unknown>[] = [];
        for (let at = 0; at < 6; at += 1) {
          const own = client();
          waiting.push(lock(own).using(() => entered.push(at)));
          await waits(own);
        }
        await lease.unlock();
        await Promise.all(waiting);
        expect(entered).toEqual([0, 1, 2, 3, 4, 5]);
      },
    },
    {
      promise: "lets no newcomer join the current holders while a call waits for it",
      needs: "a turn",
      async run({ client, lock, obstacle, waits }) {
        const lease = await obstacle(client()).lock();
        const own = client();
        const waiting = lock(own).lock();
        await waits(own);
        expect(await obstacle(client()).tryLock()).toBeNull();
        await lease.unlock();
        await (await waiting).unlock();
      },
    },
    {
      promise: "needs no connection for messages while a call waits for it",
      needs: "polling",
      async run({ client, lock, waits, subscriptions }) {
        const lease = await lock(client()).lock();
        const own = client();
        const waiting = lock(own).lock();
        await waits(own);
        await lease.unlock();
        await (await waiting).unlock();
        expect(subscriptions(own)).toBe(0);
      },
    },
    {
      promise: "gives each lease a token that is greater than all earlier tokens of all clients",
      hangsOnDrivers: true,
      needs: "tokens",
      async run({ client, lock }) {
        const tokens: unknown[] = [];
        for (const own of [client(), client(), client()])
          await lock(own).using((lease) => tokens.push(lease));
        expect(tokens).toMatchObject([{ token: 1n }, { token: 2n }, { token: 3n }]);
      },
    },
    {
      promise: "acquires none of its locks while another holder has one of them",
      hangsOnDrivers: true,
      needs: "all of several",
      async run({ server, client, lock, member }) {
        const lease = await member(client()).lock();
        const keys = await server.keys();
        expect(await lock(client()).tryLock()).toBeNull();
        expect(await server.keys()).toEqual(keys);
        await lease.unlock();
        await (await lock(client()).lock()).unlock();
      },
    },
    {
      promise:
        "can be acquired while others hold a minority of its locks, and stays held when it loses a minority",
      hangsOnDrivers: true,
      needs: "a majority",
      async run({ client, lock, member }) {
        const [own, other] = [client(), client()];
        const foreign = await member(other).lock();
        await lock(own).using(() => undefined);
        await foreign.unlock();
        const lease = await lock(own).lock();
        await member(other).forceUnlock();
        expect([lease.state, await lock(other).tryLock()]).toEqual(["held", null]);
        await lease.unlock();
      },
    },
  ],
};
