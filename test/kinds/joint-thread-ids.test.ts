import { describe, expect, test } from "vitest";
import { NotHeldError } from "../../src/errors.js";
import type { Holdfast } from "../../src/holdfast.js";
import type { Lock } from "../../src/locks/lock.js";
import { watchLeaks } from "../support/run/leaks.js";
import { backends, openedFor } from "../support/servers/backends.js";

watchLeaks();

const NAMES = ["a", "b", "c"];

type Build = (first: Holdfast, locks: readonly Lock[]) => Lock;

const multi: Build = (first, locks) => first.getMultiLock(...locks);
const red: Build = (first, locks) => first.getRedLock(...locks);

describe.each(backends)("on $name", (backend) => {
  const server = openedFor(backend);
  const held = async () => (await server().keys()).filter((key) => NAMES.includes(key)).toSorted();

  /** A lock of each of three clients as one. The numbers that these have given to their leases so far differ. */
  async function jointLock(build: Build): Promise<{ readonly lock: Lock; readonly clients: Holdfast[] }> {
    const clients = NAMES.map(() => server().client());
    for (const [count, client] of clients.entries()) {
      for (let leases = 0; leases < count; leases++) await client.getLock("earlier").using(() => undefined);
    }
    const [first] = clients;
    if (first === undefined) throw new Error("there are three");
    const locks = clients.map((client, at) => client.getLock(NAMES[at] ?? ""));
    return { lock: build(first, locks), clients };
  }

  describe.each([
    ["a multi lock", multi],
    ["a red lock", red],
  ])("the threadId of the lease of %s over several clients", (_, build) => {
    test("enters all its locks again", async () => {
      const { lock } = await jointLock(build);
      const lease = await lock.lock();
      const again = await lock.tryLock({ threadId: lease.threadId });
      expect(again?.holdCount).toBe(2);
      for (const name of NAMES) expect(Object.values(await server().fields(name))).toEqual(["2"]);
      await again?.unlock();
      expect([lease.state, await lock.getHoldCount(lease.threadId)]).toEqual(["held", 1]);
      await lease.unlock();
    });

    test("is the one that holds it, for as long as it is held", async () => {
      const { lock } = await jointLock(build);
      const lease = await lock.lock();
      const { threadId } = lease;
      expect([await lock.isHeldByThread(threadId), await lock.getHoldCount(threadId)]).toEqual([true, 1]);
      await lease.unlock();
      expect([await lock.isHeldByThread(threadId), await lock.getHoldCount(threadId)]).toEqual([false, 0]);
    });

    test("releases all its locks", async () => {
      const { lock } = await jointLock(build);
      const lease = await lock.lock();
      await lock.unlock(lease.threadId);
      expect([lease.state, await held()]).toEqual(["released", []]);
      await expect(lock.unlock(lease.threadId)).rejects.toThrow(NotHeldError);
    });

    test("stands for nobody else, who has the number in another client", async () => {
      const { lock, clients } = await jointLock(build);
      const other = await clients[1]?.getLock("other").lock();
      await lock.using(() => undefined);
      const lease = await lock.lock();
      expect(lease.threadId).toBe(other?.threadId);
      expect(await lock.tryLock({ threadId: lease.threadId })).toMatchObject({ holdCount: 2 });
      await lock.unlock(lease.threadId);
      await lock.unlock(lease.threadId);
      expect([lease.state, other?.state]).toEqual(["released", "held"]);
      await other?.unlock();
    });
  });

  test.each([
    ["a multi lock", multi],
    ["a red lock", red],
  ])(
    "unlock of %s in the asThread of only one of its clients rejects, and releases nothing",
    async (_, build) => {
      const { lock, clients } = await jointLock(build);
      await clients[0]?.asThread(async () => {
        const lease = await lock.lock();
        await expect(lock.unlock()).rejects.toThrow(NotHeldError);
        expect([lease.state, await held()]).toEqual(["held", NAMES]);
        await lease.unlock();
      });
    },
  );
});
