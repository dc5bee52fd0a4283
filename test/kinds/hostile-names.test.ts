import { describe, expect, test } from "vitest";
import {
  clientChannel,
  fairQueueKey,
  fairTimeoutsKey,
  lockChannel,
  readHoldKey,
  waiterChannel,
} from "../../src/protocol/names.js";
import { clientIdOf, JVM_1 } from "../support/models/fair-queue.js";
import { until } from "../support/run/until.js";
import { backends, openedFor } from "../support/servers/backends.js";
import { bracedNames, hostileNames } from "../support/worlds/hostile-names.js";
import { readWriteParty } from "../support/worlds/read-write-party.js";

const HOUR_MS = 3_600_000;
/** A message behind all others. */
const LAST = "last";

describe.each(backends)("on $name", (backend) => {
  const server = openedFor(backend);

  describe.each([...hostileNames, ...bracedNames])("a lock whose name has $title", ({ name }) => {
    test("keeps a writer out while one of two readers is left [own-90]", async () => {
      const [leaver, reader, writer] = [party(), party(), party()];
      const [left, lease] = [await leaver.read.lock(), await reader.read.lock()];
      const writing = writer.write.lock();
      await writer.waits();
      await left.unlock();
      expect(await server().fields(name)).toEqual({ mode: "read", [lease.holder]: "1" });
      expect(await server().ttlMs(readHoldKey(name, lease.holder, 1))).toBeGreaterThan(0);
      await lease.unlock();
      await (await writing).unlock();
    });

    test("keeps a writer out when one has become a reader [own-90]", async () => {
      const [owner, writer] = [party(), party()];
      const written = await owner.write.lock();
      const lease = await written.run(() => owner.read.lock());
      await written.unlock();
      expect(await server().fields(name)).toEqual({ mode: "read", [lease.holder]: "1" });
      expect(await writer.write.tryLock()).toBeNull();
      await lease.unlock();
    });

    test("is given to the next waiter of a fair lock by a message [own-90]", async () => {
      const [first, second] = [server().client(), server().client()];
      const lease = await first.getFairLock(name).lock();
      const waiting = second.getFairLock(name).lock();
      await until(async () => (await waiters()).length === 1);
      const [holder = ""] = await waiters();
      const heard = await hearing(clientChannel(lockChannel(name), clientIdOf(holder)));
      await lease.unlock();
      const next = await waiting;
      expect(await heard()).toEqual([expect.stringMatching(new RegExp(`^${next.threadId}:\\d{13}$`))]);
      await next.unlock();
    });

    test("tells a JVM that is next in the queue of a fair lock [own-90]", async () => {
      const lease = await server().client().getFairLock(name).lock();
      await server().raw("RPUSH", fairQueueKey(name), JVM_1);
      await server().raw("ZADD", fairTimeoutsKey(name), Date.now() + HOUR_MS, JVM_1);
      const heard = await hearing(waiterChannel(lockChannel(name), JVM_1));
      await lease.unlock();
      expect(await heard()).toEqual(["0"]);
      await server().raw("DEL", fairQueueKey(name), fairTimeoutsKey(name));
    });

    const party = () => readWriteParty(server(), name);

    /** Listens from now on. What it resolves to answers the messages so far. */
    async function hearing(channel: string): Promise<() => Promise<readonly string[]>> {
      const messages = await server().listen(channel);
      return async () => {
        await server().raw("PUBLISH", channel, LAST);
        await until(() => messages.at(-1) === LAST);
        return messages.slice(0, -1);
      };
    }

    async function waiters(): Promise<readonly string[]> {
      return [await server().raw("LRANGE", fairQueueKey(name), 0, -1)].flat().map(String);
    }
  });
});
