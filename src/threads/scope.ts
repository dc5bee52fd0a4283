import type { HoldState } from "./held.js";
import type { Hold, Stay } from "./stay.js";
import type { Thread } from "./thread.js";

/** A running body in a hold. */
export interface Body {
  readonly lockId: string;
  /** The current hold. "to come": a joint lock is still acquiring this hold. */
  readonly find: () => Hold | "to come" | undefined;
  /** Kept alive while the body runs. */
  readonly lease: object;
}

/**
 * The part of an async flow in which a hold may be re-entered: the body of `using`, `run` or `asThread`, and everything it awaits. If a
 * flow continues after its scope has ended, that scope no longer counts.
 */
export class Scope {
  readonly thread: Thread<Stay>;
  /** True for a scope that `asThread` opened: calls in it also re-enter bare holds, which `lock` and `tryLock` return. */
  readonly isThread: boolean;
  readonly #enclosing: Scope | undefined;
  #body: Body | undefined;
  /** Bare holds taken in `asThread`; undefined before the first, because most scopes never have one. */
  #taken: Set<Hold> | undefined;
  /** The leases of the holds in `#taken`: the caller need not keep them, and while the body runs they are not abandoned. */
  #leases: Map<Hold, object> | undefined;
  #ended = false;

  constructor(thread: Thread<Stay>, enclosing: Scope | undefined, body?: Body) {
    this.thread = thread;
    this.isThread = body === undefined;
    this.#enclosing = enclosing;
    this.#body = body;
  }

  get ended(): boolean {
    return this.#ended;
  }

  end(): void {
    this.#ended = true;
    this.#body = undefined;
    this.#taken = undefined;
    this.#leases = undefined;
  }

  /** Adds a bare hold to this scope. Call this in the same step that makes the hold live. */
  take(hold: Hold): void {
    this.#taken ??= new Set();
    for (const old of [...this.#taken]) if (!isPresent(old)) this.#forget(old);
    this.#taken.add(hold);
  }

  keepLease(hold: Hold, lease: object): void {
    if (this.#ended) return;
    this.#leases ??= new Map();
    this.#leases.set(hold, lease);
  }

  /** The innermost bare hold of a lock that was taken directly in this scope. */
  innermostTaken(lockId: string, replaced?: Hold): Hold | undefined {
    if (this.#taken === undefined) return undefined;
    return [...this.#taken].reverse().find((hold) => counts(hold, lockId, replaced));
  }

  /** True if this scope, or one around it, has the hold. */
  covers(hold: Hold): boolean {
    for (const scope of this.#path()) {
      if (scope.#body?.find() === hold || scope.#taken?.has(hold)) return true;
    }
    return false;
  }

  /**
   * The innermost hold of a lock in this scope and those around it, even if it was lost; undefined if there is none.
   * @param replaced a lost hold that does not count; other lost holds of the same stay do not count either
   */
  holdOf(lockId: string, replaced?: Hold): Hold | undefined {
    for (const scope of this.#path()) {
      const held = scope.#heldHere(lockId, replaced);
      if (held !== undefined) return held;
    }
    return undefined;
  }

  /** The leases of some locks that the bodies around the call have, including lost and released ones: the innermost first. */
  *leasesOf(lockIds: readonly string[]): Iterable<object> {
    for (const scope of this.#path()) {
      if (scope.#body !== undefined && lockIds.includes(scope.#body.lockId)) yield scope.#body.lease;
      for (const [hold, lease] of [...(scope.#leases ?? [])].reverse()) {
        if (lockIds.includes(hold.stay.lock.id)) yield lease;
      }
    }
  }

  /** True while a joint lock around the call is still acquiring this lock. */
  awaits(lockId: string): boolean {
    for (const scope of this.#path()) {
      if (scope.#body?.lockId === lockId && scope.#body.find() === "to come") return true;
    }
    return false;
  }

  #heldHere(lockId: string, replaced: Hold | undefined): Hold | undefined {
    const hold = this.#body?.find();
    const here = hold !== undefined && hold !== "to come" && counts(hold, lockId, replaced);
    return here ? hold : this.innermostTaken(lockId, replaced);
  }

  #forget(hold: Hold): void {
    this.#taken?.delete(hold);
    this.#leases?.delete(hold);
  }

  *#path(): Iterable<Scope> {
    for (let scope: Scope | undefined = this; scope !== undefined; scope = scope.#enclosing) {
      if (!scope.#ended) yield scope;
    }
  }
}

function counts(hold: Hold, lockId: string, replaced: Hold | undefined): boolean {
  const { stay } = hold;
  if (stay.lock.id !== lockId) return false;
  const { state } = hold;
  return isPresent(hold, state) && (state === "held" || stay !== replaced?.stay);
}

/** A lost hold blocks its thread until the caller has learned of the loss. */
function isPresent(hold: Hold, state: HoldState = hold.state): boolean {
  return state === "held" || (state === "lost" && !hold.dismissed);
}
