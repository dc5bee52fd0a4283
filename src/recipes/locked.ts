import { checkObject, known, refuseUnknown, shown } from "../checks.js";
import type { Holdfast, Lock, LockOptions } from "../index.js";
import { type BusyOptions, onBusyOf } from "./busy.js";

/** How a decorated method is locked: `waitMs` or `onBusy` is required. */
export interface LockedOptions
  extends BusyOptions,
    Pick<LockOptions, "leaseMs" | "watchdogMs" | "maxHoldMs" | "note"> {}

type Names = string | readonly string[];

// biome-ignore lint/suspicious/noExplicitAny: the parameters of a method are those of the class that is decorated.
type Method = (...args: any[]) => Promise<unknown>;

/** A decorator of methods, both standard and for TypeScript's `experimentalDecorators`. */
export interface LockedMethod {
  <M extends Method>(method: M, context: ClassMethodDecoratorContext): M;
  <M extends Method>(
    target: object,
    property: string | symbol,
    descriptor: TypedPropertyDescriptor<M>,
  ): TypedPropertyDescriptor<M>;
}

const OPTIONS = known<LockedOptions>("option", "locked", {
  onBusy: true,
  waitMs: true,
  leaseMs: true,
  watchdogMs: true,
  maxHoldMs: true,
  note: true,
});

/**
 * Runs an asynchronous method under a lock, as `using` does: nested calls enter the lock once more. With `onBusy: "skip"` the method
 * resolves with undefined if it was not run.
 *
 * @example
 * class Orders {
 *   constructor(readonly holdfast: Holdfast) {}
 *
 *   @locked((orders: Orders) => orders.holdfast, (id: string) => `order:${id}`, { waitMs: 5_000 })
 *   async pay(id: string): Promise<void> {}
 * }
 * @param holdfast the client, or a function that returns it for the object whose method is called
 * @param name of the lock, or a function that makes it from the arguments of the call; several names make a multi lock
 * @throws TypeError, RangeError when it decorates; the method throws as `using` and `tryUsing` do
 * @see docs/guide/recipes.md
 */
// biome-ignore lint/suspicious/noExplicitAny: the object and the arguments are those of the class that is decorated.
export function locked<This = any, Args extends readonly any[] = any[]>(
  holdfast: Holdfast | ((self: This) => Holdfast),
  name: Names | ((...args: Args) => Names),
  options: LockedOptions,
): LockedMethod {
  checkObject("options", options, "{ waitMs: 5_000 }");
  const { onBusy, waitMs, leaseMs, watchdogMs, maxHoldMs, note, ...unknown } = options;
  refuseUnknown(OPTIONS, unknown);
  if (onBusy === undefined && waitMs === undefined)
    throw new TypeError('locked needs waitMs or onBusy, as in { waitMs: 5_000 } or { onBusy: "skip" }');
  const skips = onBusyOf({ onBusy, waitMs }, "throw") === "skip";
  const lockOptions = { waitMs: waitMs ?? 0, leaseMs, watchdogMs, maxHoldMs, note };

  const around = (method: unknown) => {
    if (typeof method !== "function") throw new TypeError(`locked decorates methods, got ${shown(method)}`);
    const inLock = async function (this: This, ...args: Args): Promise<unknown> {
      const client = typeof holdfast === "function" ? holdfast(this) : holdfast;
      const lock = lockFor(client, typeof name === "function" ? name(...args) : name, method.name);
      const body = () => Reflect.apply(method, this, args);
      return skips ? (await lock.tryUsing(lockOptions, body)).value : lock.using(lockOptions, body);
    };
    return Object.defineProperties(inLock, {
      name: { value: method.name, configurable: true },
      length: { value: method.length, configurable: true },
    });
  };
  const decorate = (first: unknown, _second: unknown, descriptor?: PropertyDescriptor) =>
    descriptor === undefined ? around(first) : { ...descriptor, value: around(descriptor.value) };
  return decorate as LockedMethod;
}

function lockFor(holdfast: Holdfast, names: Names, method: string): Lock {
  if (typeof names === "string") return holdfast.getLock(names);
  if (!Array.isArray(names) || names.length === 0)
    throw new TypeError(`the lock of ${method}() must have a name, or several, got ${shown(names)}`);
  const locks = [...new Set(names)].map((name) => holdfast.getLock(name));
  const [first, ...others] = locks;
  return first !== undefined && others.length === 0 ? first : holdfast.getMultiLock(...locks);
}
