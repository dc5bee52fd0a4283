import type { ClientSettings } from "../client-options.js";
import { environment } from "../environment.js";
import { fulfil } from "./fulfil.js";
import type { Member } from "./joint-hold.js";
import { releaseAll } from "./joint-lease.js";
import { giveBack, type JointCall, JointLock, Strangers } from "./joint-lock.js";
import { jointMembers } from "./joint-members.js";
import type { LeaseLock } from "./lease-lock.js";
import type { Lock } from "./lock.js";
import { isFresh, takeTogether } from "./take-together.js";

/**
 * Two who got in each other's way try again after a random pause, up to so many milliseconds, and up to twice as many each time: what
 * tells two apart that are close to a server is lost on the way to a far one.
 */
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 640;

/**
 * Several locks as one: all or none. Nobody waits for one of them while holding another, so that no two can wait for each
 * other: who misses one gives all back, waits for that one, and tries the others again. Source: Redisson's
 * RedissonMultiLock.
 */
export class MultiLock extends JointLock {
  constructor(locks: readonly Lock[], settings: ClientSettings) {
    const members = jointMembers(locks, "a multi lock");
    super("multi-lock", members, members.length, settings);
  }

  protected async take(call: JointCall): Promise<readonly Member[] | undefined> {
    const { waiter } = call;
    let missing: LeaseLock | undefined;
    let pauseMs = FIRST_PAUSE_MS;
    for (;;) {
      const outcome = await this.#takeAll(call, missing);
      if (Array.isArray(outcome)) return outcome;
      if (waiter.cancelled) throw waiter.reason;
      if (!call.waits || waiter.over) return undefined;
      ({ missing } = outcome as Missing);
      // What has woken it in this round is not to end the pause.
      await waiter.pause(0);
      await waiter.pause(environment.random() * pauseMs);
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    }
  }

  /** @param first to be waited for while nothing else is held */
  async #takeAll(call: JointCall, first: LeaseLock | undefined): Promise<Member[] | Missing> {
    const members: Member[] = [];
    try {
      const missing = await this.#collect(call, first, members);
      const lost = missing ?? members.find(({ hold }) => hold.state !== "held")?.lock;
      if (lost === undefined) return members;
      await releaseAll(members);
      return { missing: lost };
    } catch (error) {
      giveBack(members);
      throw error;
    }
  }

  /** @returns the lock that was not to be had */
  async #collect(
    call: JointCall,
    first: LeaseLock | undefined,
    members: Member[],
  ): Promise<LeaseLock | undefined> {
    const strangers = new Strangers();
    if (first !== undefined && !(await this.#takeOne(call, first, { waits: true, strangers, members })))
      return first;
    const others = this.members.filter((lock) => lock !== first);
    for (const group of groups(others)) {
      const fresh = group.filter((lock) => call.options.threadId === undefined && isFresh(lock.identity));
      const missing =
        fresh.length > 1 ? await this.#takeGroup(call, fresh, { strangers, members }) : undefined;
      if (missing !== undefined) return missing;
      for (const lock of fresh.length > 1 ? group.filter((one) => !fresh.includes(one)) : group) {
        if (!(await this.#takeOne(call, lock, { waits: false, strangers, members }))) return lock;
      }
    }
    return undefined;
  }

  async #takeOne(
    call: JointCall,
    lock: LeaseLock,
    { waits, strangers, members }: Collection & { readonly waits: boolean },
  ): Promise<boolean> {
    const { client } = lock.identity;
    const wish = this.newWish(lock, call, waits);
    const stranger = () => strangers.to(client);
    const threadId = this.threadIdFor(lock, call.options.threadId);
    const hold = await fulfil(lock.identity, wish, threadId, stranger).finally(() => this.note(call, wish));
    if (hold !== undefined) members.push({ lock, hold });
    return hold !== undefined;
  }

  async #takeGroup(
    call: JointCall,
    group: readonly LeaseLock[],
    { strangers, members }: Collection,
  ): Promise<LeaseLock | undefined> {
    const parts = group.map((lock) => ({ lock, wish: this.newWish(lock, call, false) }));
    const outcome = await takeTogether(parts, call.waiter, strangers).finally(() => {
      for (const { wish } of parts) this.note(call, wish);
    });
    members.push(...outcome.members);
    return outcome.missing;
  }
}

/** What one round has taken so far, and who takes it. */
interface Collection {
  readonly strangers: Strangers;
  readonly members: Member[];
}

interface Missing {
  readonly missing: LeaseLock;
}

/** Locks that one command can take: those of one client, one script and one slot. */
function groups(locks: readonly LeaseLock[]): readonly (readonly LeaseLock[])[] {
  const all: LeaseLock[][] = [];
  for (const lock of locks) {
    const group = all.find(([first]) => first !== undefined && shareCommand(first, lock));
    if (group === undefined) all.push([lock]);
    else group.push(lock);
  }
  return all;
}

function shareCommand({ identity: a }: LeaseLock, { identity: b }: LeaseLock): boolean {
  const { commands } = a.client;
  if (a.client !== b.client || a.kind.acquire !== b.kind.acquire) return false;
  return commands.slotOf(a.key) === commands.slotOf(b.key);
}
