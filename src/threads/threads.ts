import { AsyncLocalStorage } from "node:async_hooks";
import { Ring } from "../linked.js";
import { FIRST_OWN_THREAD_ID } from "../options.js";
import { holderField } from "../protocol/names.js";
import type { Watchdogs } from "../runtime/watchdogs.js";
import type { Custody } from "./custody.js";
import type { Held, HeldKind } from "./held.js";
import { Occupancy } from "./occupancy.js";
import { type Body, Scope } from "./scope.js";
import { Stay } from "./stay.js";
import { Thread } from "./thread.js";

const SMALLEST_SWEEP = 64;
const NONE: readonly Stay[] = [];

/** The code that runs after a body, once its scope has ended. */
export interface AfterBody {
  returned<T>(result: T): Promise<T>;
  threw(error: unknown): Promise<never>;
}

/** The threads of one client: decides which thread a call belongs to, under which number, and in which scope. */
export class Threads {
  readonly #clientId: string;
  readonly #custody: Custody<Stay>;
  /** Like `#custody`, for shared locks. */
  readonly #sharedCustody: Custody<Stay>;
  /** Not used before the first scope, because on Node 20 its use slows down every await of the process. */
  readonly #scopes = new AsyncLocalStorage<Scope | undefined>();
  #scoped = false;
  #nextId = FIRST_OWN_THREAD_ID;
  readonly #explicit = new Map<number, Thread<Stay>>();
  /** When `#explicit` reaches this size, `#sweep` looks for threads without any stay. */
  #sweepAtSize = SMALLEST_SWEEP;
  /** All stays, including those of a thread whose chosen number now belongs to a later thread. */
  readonly #stays = new Ring<Stay>();
  /** The stays under numbers that the client made, filled at the first search by number. */
  #byNumber: Map<number, Stay> | undefined;
  readonly #occupancy = new Occupancy();
  readonly #running = new Set<Promise<unknown>>();

  /** @param sharedWatchdogs renew the holds of shared locks, `services.watchdogs` all others */
  constructor(
    clientId: string,
    services: Omit<Custody<Stay>, "over" | "occupancy">,
    sharedWatchdogs: Watchdogs,
  ) {
    this.#clientId = clientId;
    this.#custody = { ...services, occupancy: this.#occupancy, over: this.#over };
    this.#sharedCustody = { ...this.#custody, watchdogs: sharedWatchdogs };
  }

  /** The scope of the calling flow; undefined outside all scopes, or if the flow has outlived its scope. */
  get current(): Scope | undefined {
    if (!this.#scoped) return undefined;
    const scope = this.#scopes.getStore();
    return scope?.ended ? undefined : scope;
  }

  /** The bodies that run in a scope. */
  get running(): ReadonlySet<Promise<unknown>> {
    return this.#running;
  }

  /** Runs a body as a thread. */
  runAs<T>(thread: Thread<Stay>, body: () => T | Promise<T>): Promise<T> {
    return this.#run(new Scope(thread, this.current), body);
  }

  /**
   * Runs a body in a hold. The lease is kept alive while the body runs.
   * @param after the code that runs once the scope has ended. Without it, the call has the outcome of the body
   */
  runIn<T>(hold: Body, body: () => T | Promise<T>, after?: AfterBody): Promise<T> {
    const found = hold.find();
    const own = found === "to come" ? undefined : found?.stay.thread;
    return this.#run(new Scope(own ?? this.current?.thread ?? new Thread(), this.current, hold), body, after);
  }

  /** Runs a body that has no hold of a lock. A client that closes waits for the body. `kept` stays reachable until the body ends. */
  runBeside<T>(kept: object, body: () => T | Promise<T>, after?: AfterBody): Promise<T> {
    return this.runIn({ lockId: "", find: () => undefined, lease: kept }, body, after);
  }

  #run<T>(scope: Scope, body: () => T | Promise<T>, after?: AfterBody): Promise<T> {
    this.#scoped = true;
    const returned = (result: T): T | Promise<T> => {
      scope.end();
      return after === undefined ? result : after.returned(result);
    };
    const threw = (error: unknown): Promise<never> => {
      scope.end();
      return after === undefined ? Promise.reject(error) : after.threw(error);
    };
    let result: T | Promise<T>;
    try {
      result = this.#scopes.run(scope, body);
    } catch (error) {
      return threw(error);
    }
    if (!isThenable(result)) return Promise.resolve(returned(result));
    const running = Promise.resolve(result);
    this.#running.add(running);
    return running.then(
      (value) => {
        this.#running.delete(running);
        return returned(value);
      },
      (error: unknown) => {
        this.#running.delete(running);
        return threw(error);
      },
    );
  }

  /** Runs a function outside all scopes. */
  outside<T>(body: () => T): T {
    return this.within(undefined, body);
  }

  /** Runs a function in a scope that was opened elsewhere; undefined: outside all scopes. */
  within<T>(scope: Scope | undefined, body: () => T): T {
    return this.#scoped ? this.#scopes.run(scope, body) : body();
  }

  /** Disables the storage of scopes, which would otherwise still slow down every await of the process. */
  stop(): void {
    this.#scoped = false;
    this.#scopes.disable();
  }

  /**
   * Begins a stay of a thread in a lock, under the number that the caller chose or a new one. Its acquisition is under way until {@link
   * Stay.settled}.
   * @param host the write stay beside which a read stay begins
   */
  begin(thread: Thread<Stay>, lock: Held, host?: Stay): Stay {
    const threadId = thread.explicitId ?? this.#nextId++;
    const field = holderField(this.#clientId, threadId) + lock.kind.fieldEnding;
    const id = { threadId, field, host };
    const stay = new Stay(thread, lock, id, lock.kind.shared ? this.#sharedCustody : this.#custody);
    thread.put(stay);
    this.#stays.add(stay);
    if (thread.explicitId === undefined) this.#byNumber?.set(threadId, stay);
    else {
      if (this.#explicit.size >= this.#sweepAtSize) this.#sweep();
      this.#explicit.set(threadId, thread);
    }
    return stay;
  }

  /** The thread for an id: the thread of a live lease, or a thread with a chosen id that has a stay. */
  find(threadId: number): Thread<Stay> | undefined {
    return this.stay(threadId)?.thread ?? this.#explicit.get(threadId);
  }

  /** The stay under a number that the client made. */
  stay(threadId: number): Stay | undefined {
    if (this.#byNumber === undefined) {
      const own = [...this.#stays].filter(({ thread }) => thread.explicitId === undefined);
      this.#byNumber = new Map(own.map((stay) => [stay.threadId, stay]));
    }
    return this.#byNumber.get(threadId);
  }

  /** All stays of this client. */
  stays(): Iterable<Stay> {
    return this.#stays;
  }

  /** The stays in shared locks, or in all others. */
  ofLocks({ shared }: Pick<HeldKind, "shared">): readonly Stay[] {
    return [...this.stays()].filter(({ lock }) => lock.kind.shared === shared);
  }

  /**
   * The fields of a lock were removed in Redis: their holds are lost.
   * @param beforeMs on the monotonic clock: a stay that was requested after this time is left alone, because it may have begun after the
   * removal
   * @returns whether there is such a later stay
   */
  stolen(key: string, fields: readonly string[], beforeMs: number): boolean {
    let hasLater = false;
    for (const stay of [...this.stays()]) {
      if (stay.key !== key || !stay.fields.some((field) => fields.includes(field))) continue;
      const [outermost] = stay.held;
      const isLater = outermost !== undefined && outermost.takenAt.monotonicMs > beforeMs;
      if (isLater && stay.inRedis.isNamed) {
        hasLater = true;
        continue;
      }
      stay.inRedis.forced(this.#custody.clock.monotonicMs());
      stay.loseAll("stolen");
    }
    return hasLater;
  }

  /**
   * The stays of other threads that exclude a stay that is about to begin.
   * @param otherId the other lock of the pair, if there is one
   */
  excludedBy({ lock: { id, kind }, thread }: Stay, otherId: string | undefined): readonly Stay[] {
    const alike = kind.shared ? 0 : this.#occupancy.of(id);
    const others = otherId === undefined ? 0 : this.#occupancy.of(otherId);
    if (alike + others <= 0) return NONE;
    // Stays of the same thread do not exclude it: a thread may have both locks of a pair, and may be releasing one of them right now.
    return [...this.stays()].filter(
      (stay) => stay.thread !== thread && (stay.lock.id === otherId || (stay.lock.id === id && !kind.shared)),
    );
  }

  /** Forgets lost stays under chosen ids if no call has used the id since. */
  #sweep(): void {
    for (const stay of [...this.stays()]) {
      if (!stay.isOutlived) continue;
      stay.inRedis.empty();
      this.#over(stay);
    }
    this.#sweepAtSize = Math.max(SMALLEST_SWEEP, 2 * this.#explicit.size);
  }

  readonly #over = (stay: Stay): void => {
    const { thread, threadId } = stay;
    thread.remove(stay);
    stay.unlink();
    if (thread.explicitId === undefined) this.#byNumber?.delete(threadId);
    // The number may already belong to a later thread.
    else if (thread.isIdle && this.#explicit.get(threadId) === thread) this.#explicit.delete(threadId);
  };
}

/** True for most bodies, which are async functions; a synchronous body costs no promise of its own. */
export function isThenable<T>(result: T | Promise<T>): result is Promise<T> {
  return typeof (result as Partial<PromiseLike<T>> | null | undefined)?.then === "function";
}
