import { describe, expect, test } from "vitest";
import { fairQueueKey } from "../../src/protocol/names.js";
import { interop, release } from "../support/interop.js";
import type { User } from "../support/lock-user.js";
import { proves } from "../support/proof.js";
import { until } from "../support/until.js";
import { interopKinds } from "./kinds.js";

const both = interop();
const NAME = "order:7";
const HOUR_MS = 3_600_000;

const fairKinds = interopKinds.filter(({ name }) => name.endsWith("fair"));
const makers = { jvm: () => both.jvm(), node: () => both.node() };
const mixed = ["jvm", "node", "node", "jvm", "jvm", "node"] as const;

async function queued(count: number): Promise<void> {
  await until(async () => (await both.plain.llen(fairQueueKey(NAME))) === count);
}

describe.each(fairKinds)(
  `Redisson ${release}: a mixed queue of a lock of the kind: $name`,
  ({ name, of }) => {
    const lock = of(NAME);
    proves({ kind: name, direction: "both", of: "queue" });

    test.each(["jvm", "node"] as const)(
      "is served in its order behind a holder of the %s side, each once",
      async (side) => {
        const holder = await makers[side]();
        await holder.lock(lock, HOUR_MS);
        const entered: number[] = [];
        const visits: Promise<void>[] = [];
        for (const [at, maker] of mixed.entries()) {
          const user = await makers[maker]();
          visits.push(visit(user, at));
          await queued(at + 1);
        }
        await holder.unlock(lock);
        await Promise.all(visits);
        expect(entered).toEqual(mixed.map((_, at) => at));

        async function visit(user: User, at: number): Promise<void> {
          await user.lock(lock, HOUR_MS);
          entered.push(at);
          expect(await both.plain.hgetall(NAME)).toEqual({ [user.holder]: "1" });
          await user.unlock(lock);
        }
      },
    );

    test.each(["jvm", "node"] as const)("loses who gives up behind a holder of the %s side", async (side) => {
      const holder = await makers[side]();
      await holder.lock(lock, HOUR_MS);
      const [jvm, node, last] = [await both.jvm(), await both.node(), await both.node()];
      const timed = jvm.tryLock(lock, { waitMs: 5_000, leaseMs: HOUR_MS });
      await queued(1);
      const cancelled = node.lock(lock);
      await queued(2);
      const waiting = last.lock(lock);
      await queued(3);
      await Promise.all([expect(cancelled).rejects.toThrow("given up"), node.giveUp()]);
      expect(await timed).toBe(false);
      await queued(1);
      await holder.unlock(lock);
      await waiting;
      await last.unlock(lock);
    });
  },
);
