import type { Client } from "../client.js";
import { environment } from "../environment.js";
import { acquire } from "./acquisition.js";
import type { JointMember } from "./joint-hold.js";
import { releaseAll } from "./joint-lease.js";
import { giveBack, type JointCall, JointLock } from "./joint-lock.js";
import { jointMembers } from "./joint-members.js";
import type { Lock } from "./lock.js";
import type { SingleLock } from "./single-lock.js";
import { Strangers } from "./strangers.js";
import { isFresh, type TogetherOutcome, takeTogether } from "./take-together.js";

/**
 * Two calls that got in each other's way try again after random pauses of up to this time, which doubles each round: a short pause
 * separates two clients close to the server, but not two far from it.
 */
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 640;

/**
 * Several locks as one: all or none. A call never waits for one of the locks while it holds another, so two calls cannot wait for each
 * other. A call that cannot take one lock releases all others, waits for that lock, and then tries the others again. Source: Redisson's
 * RedissonMultiLock.
 */
export class MultiLock extends JointLock {
  constructor(locks: readonly Lock[], client: Pick<Client, "settings" | "about">) {
    const members = jointMembers(locks, "a multi lock");
    super("multi-lock", members, members.length, client);
  }

  protected async take(call: JointCall): Promise<readonly JointMember[] | undefined> {
    const { waiter } = call;
    let missing: SingleLock | undefined;
    let pauseMs = FIRST_PAUSE_MS;
    for (;;) {
      const outcome = await (missing === undefined ? this.#takeAtOnce(call) : this.#takeAll(call, missing));
      const lost = outcome.missing ?? outcome.members.find(({ hold }) => hold.state !== "held")?.lock;
      if (lost === undefined) return outcome.members;
      await releaseAll(outcome.members);
      if (waiter.cancelled) throw waiter.reason;
      if (!call.waits || waiter.over) return undefined;
      missing = lost;
      call.waitEndedBy = "timer";
      // Uses up a wake-up of this round, which must not end the pause below.
      await waiter.pause(0);
      await waiter.pause(environment.random() * pauseMs);
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    }
  }

  /** Takes all locks in one command if possible. */
  #takeAtOnce(call: JointCall): Promise<TogetherOutcome> {
    const [group = [], ...others] = groups(this.members);
    const isOne = group.length > 1 && others.length === 0 && call.options.threadId === undefined;
    return isOne && group.every((lock) => isFresh(lock.identity))
      ? this.#takeGroup(call, group, new Strangers())
      : this.#takeAll(call, undefined);
  }

  /** @param first the lock to wait for while no other is held */
  async #takeAll(call: JointCall, first: SingleLock | undefined): Promise<TogetherOutcome> {
    const members: JointMember[] = [];
    try {
      const missing = await this.#collect(call, first, members);
      return missing === undefined ? { members } : { members, missing };
    } catch (error) {
      giveBack(members);
      throw error;
    }
  }

  /** @returns the lock that could not be acquired */
  async #collect(
    call: JointCall,
    first: SingleLock | undefined,
    members: JointMember[],
  ): Promise<SingleLock | undefined> {
    const strangers = new Strangers();
    if (first !== undefined && !(await this.#takeOne(call, first, { waits: true, strangers, members })))
      return first;
    const others = this.members.filter((lock) => lock !== first);
    for (const group of groups(others)) {
      const fresh = group.filter((lock) => call.options.threadId === undefined && isFresh(lock.identity));
      const taken = fresh.length > 1 ? await this.#takeGroup(call, fresh, strangers) : undefined;
      if (taken !== undefined) members.push(...taken.members);
      if (taken?.missing !== undefined) return taken.missing;
      for (const lock of fresh.length > 1 ? group.filter((one) => !fresh.includes(one)) : group) {
        if (!(await this.#takeOne(call, lock, { waits: false, strangers, members }))) return lock;
      }
    }
    return undefined;
  }

  async #takeOne(
    call: JointCall,
    lock: SingleLock,
    { waits, strangers, members }: Collection & { readonly waits: boolean },
  ): Promise<boolean> {
    const { client } = lock.identity;
    const wish = this.newWish(lock, call, waits);
    const stranger = () => strangers.to(client);
    const threadId = this.threadIdFor(lock, call.options.threadId);
    const hold = await acquire(lock.identity, wish, { threadId, stranger }, (hold) => hold).finally(() =>
      this.note(call, lock, wish),
    );
    if (hold !== undefined) members.push({ lock, hold });
    return hold !== undefined;
  }

  #takeGroup(call: JointCall, group: readonly SingleLock[], strangers: Strangers): Promise<TogetherOutcome> {
    const parts = group.map((lock) => ({ lock, wish: this.newWish(lock, call, false) }));
    return takeTogether(parts, call.waiter, strangers, () => {
      for (const { lock, wish } of parts) this.note(call, lock, wish);
    });
  }
}

/** The locks that one round has taken so far, and the threads that it uses. */
interface Collection {
  readonly strangers: Strangers;
  readonly members: JointMember[];
}

/** Groups the locks that one command can take: same client, same script, same slot. */
function groups(locks: readonly SingleLock[]): readonly (readonly SingleLock[])[] {
  const all: SingleLock[][] = [];
  for (const lock of locks) {
    const group = all.find(([first]) => first !== undefined && shareCommand(first, lock));
    if (group === undefined) all.push([lock]);
    else group.push(lock);
  }
  return all;
}

function shareCommand({ identity: a }: SingleLock, { identity: b }: SingleLock): boolean {
  const { commands } = a.client;
  if (a.client !== b.client || a.kind.acquire !== b.kind.acquire) return false;
  return commands.slotOf(a.key) === commands.slotOf(b.key);
}
