import type { HoldState } from "./held.js";
import type { Hold, Stay } from "./stay.js";
import type { Thread } from "./thread.js";

/** The body of a hold. */
export interface Body {
  readonly lockId: string;
  /** The hold as it is at the time. "to come": a joint lock is still acquiring it. */
  readonly find: () => Hold | "to come" | undefined;
  /** Is not abandoned while the body runs. */
  readonly lease: object;
}

/**
 * The stretch of a flow of async work in which a hold may be re-entered: the body of `using`, `run` or `asThread`, and
 * everything it awaits. A scope that has ended is as good as none for a flow that outlives it.
 */
export class Scope {
  readonly thread: Thread<Stay>;
  /** True for the scope that `asThread` opened, in which bare holds lie on the path. */
  readonly isThread: boolean;
  readonly #enclosing: Scope | undefined;
  #body: Body | undefined;
  /** Bare holds taken in `asThread`; undefined before the first, as most scopes never have one. */
  #taken: Set<Hold> | undefined;
  /** The leases of these holds: the caller need not keep them, and while the body runs they are not abandoned. */
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

  /** Puts a bare hold on the path. To be called in the same step that makes it live. */
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

  /** The innermost hold of a lock that was taken bare in this very scope. */
  innermostTaken(lockId: string, replaced?: Hold): Hold | undefined {
    if (this.#taken === undefined) return undefined;
    return [...this.#taken].reverse().find((hold) => counts(hold, lockId, replaced));
  }

  /** True when the flow lies in this hold: it is held by this scope or by one around it. */
  covers(hold: Hold): boolean {
    for (const scope of this.#path()) {
      if (scope.#body?.find() === hold || scope.#taken?.has(hold)) return true;
    }
    return false;
  }

  /**
   * The innermost hold of a lock on the path, also one that was lost; undefined when none is.
   * @param replaced a lost hold that does not count, nor does any that was lost with it
   */
  holdOf(lockId: string, replaced?: Hold): Hold | undefined {
    for (const scope of this.#path()) {
      const held = scope.#heldHere(lockId, replaced);
      if (held !== undefined) return held;
    }
    return undefined;
  }

  /** The leases that the bodies around the call have of some locks, also of those that were lost or released: the innermost first. */
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

/** A lost hold stands in the way of its thread until the caller has heard of the loss. */
function isPresent(hold: Hold, state: HoldState = hold.state): boolean {
  return state === "held" || (state === "lost" && !hold.dismissed);
}
