import { describe, expect, test } from "vitest";
import { interop, release } from "../support/jvm/interop.js";
import { JvmUser, type User } from "../support/jvm/lock-user.js";
import type { RedissonLockName } from "../support/jvm/redisson.js";
import { type Proof, proves } from "../support/run/proof.js";
import { interopKinds } from "./kinds.js";

const both = interop();
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

interface Direction {
  readonly title: Exclude<Proof["direction"], "both">;
  /** Who holds, and who waits. */
  users(): Promise<readonly [User, User]>;
}

const directions: readonly Direction[] = [
  { title: "a JVM holds, Node waits", users: () => Promise.all([both.jvm(), both.node()]) },
  { title: "Node holds, a JVM waits", users: () => Promise.all([both.node(), both.jvm()]) },
];

describe.each(directions)(`Redisson ${release}: $title`, ({ title, users }) => {
  describe.each(interopKinds)("$name", ({ name, of, rival = of, tells }) => {
    proves({ kind: name, direction: title, of: "exclusion" });

    test("is refused while it is held, and had as soon as it is released", async () => {
      const [holder, waiter] = await users();
      await holder.lock(of("order:7"), HOUR_MS);
      expect(await waiter.tryLock(rival("order:7"))).toBe(false);
      const waiting = waiter.lock(rival("order:7"), HOUR_MS);
      await waiter.waits({ polling: !tells });
      await holder.unlock(of("order:7"));
      await waiting;
      expect(await holder.tryLock(of("order:7"))).toBe(false);
      await waiter.unlock(rival("order:7"));
      expect(await holder.tryLock(of("order:7"))).toBe(true);
      await holder.unlock(of("order:7"));
    });
  });

  const answering = interopKinds.filter(({ questions }) => questions);

  describe.each(answering)("$name", ({ name, of, reentrant }) => {
    proves({ kind: name, direction: title, of: "questions" });

    test("is seen alike from both sides", async () => {
      const [holder, other] = await users();
      const lock = of("order:7");
      const holds = reentrant ? 2 : 1;
      for (let i = 0; i < holds; i += 1) await holder.lock(lock, HOUR_MS);
      expect(await both.plain.hget("order:7", fieldOf(holder, lock.kind))).toBe(String(holds));
      expect([await holder.isLocked(lock), await other.isLocked(lock)]).toEqual([true, true]);
      expect([await holder.isHeld(lock), await other.isHeld(lock)]).toEqual([true, false]);
      expect(await holder.isHeldByThread(lock, holder.threadId)).toBe(true);
      expect([await holder.holdCount(lock), await other.holdCount(lock)]).toEqual([holds, 0]);
      // A JVM's writer adds the lease to the TTL when it enters again.
      const [mineMs, yoursMs] = [await holder.ttlMs(lock), await other.ttlMs(lock)];
      expect(mineMs).toBeGreaterThan(HOUR_MS / 2);
      expect(mineMs).toBeLessThanOrEqual(holds * HOUR_MS);
      expect(yoursMs).toBeLessThanOrEqual(mineMs);
      expect(yoursMs).toBeGreaterThan(mineMs - MINUTE_MS);
      if (reentrant) await holder.unlock(lock);
      else await expect(entered(holder, lock)).resolves.toBe("held already");
      expect([await other.isLocked(lock), await holder.holdCount(lock)]).toEqual([true, 1]);
      await holder.unlock(lock);
    });
  });

  describe.each(answering)("$name", ({ name, of, silent }) => {
    proves({ kind: name, direction: title, of: "force" });

    test("is freed by force from the other side, which its holder hears of when it releases", async () => {
      const [holder, other] = await users();
      const lock = of("order:7");
      await holder.lock(lock, HOUR_MS);
      expect(await other.forceUnlock(lock)).toBe(true);
      expect([await holder.isLocked(lock), await other.isLocked(lock)]).toEqual([false, false]);
      expect(await other.forceUnlock(lock)).toBe(false);
      const release = holder.unlock(lock).catch((error: unknown) => holder.refusal(error));
      expect(await release).toBe(silent && holder instanceof JvmUser ? undefined : "not held");
    });
  });
});

async function entered(user: User, lock: RedissonLockName): Promise<unknown> {
  return user.lock(lock, HOUR_MS).catch((error: unknown) => user.refusal(error));
}

function fieldOf({ holder }: User, kind: string): string {
  return kind === "write" ? `${holder}:write` : holder;
}
