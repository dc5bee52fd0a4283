import { Inject } from "@nestjs/common";
import type { Holdfast } from "holdfast";
import { type LockedOptions, locked, type OnBusy, type RunOnceOptions, runOnce } from "holdfast/recipes";
import { messageOf } from "./messages.js";
import { getHoldfastToken } from "./tokens.js";

type KeyNames = string | readonly string[];

/** How to lock a method: `waitMs` or `onBusy` is required. */
export type LockedMethodOptions = LockedOptions & {
  /** The name of the client. Default: the client without a name. */
  readonly client?: string;
} & (
    | { readonly waitMs: number; readonly onBusy?: "wait" | undefined }
    | { readonly onBusy: Exclude<OnBusy, "wait">; readonly waitMs?: undefined }
  );

/** How to run a scheduled method only once in the whole fleet, at each scheduled time. */
export interface RunOnceMethodOptions extends Omit<RunOnceOptions, "name" | "fireTime" | "clock"> {
  /** The name of the job. Default: `<class>.<method>`. */
  readonly name?: string;
  /**
   * In milliseconds; each scheduled time must be a multiple of `gridMs`: 60 000 for a schedule of minutes. Nest does not pass the scheduled
   * time to the method, so the time of the call is rounded down.
   */
  readonly gridMs: number;
  readonly client?: string;
}

// biome-ignore lint/suspicious/noExplicitAny: what methods take is theirs.
type DecoratedMethod = (...args: any[]) => Promise<unknown>;

/** A decorator for methods whose first arguments fit this function. */
type MethodDecorating<Args extends readonly unknown[], Options> = <M extends DecoratedMethod>(
  target: object,
  property: string | symbol,
  descriptor: TypedPropertyDescriptor<M> &
    FittingArguments<Args, Parameters<M>> &
    Skipping<Options, Awaited<ReturnType<M>>>,
) => TypedPropertyDescriptor<M>;

// A condition on the type of the method itself would lose the method's type parameters.
type FittingArguments<Args extends readonly unknown[], Given> = Given extends readonly [...Args, ...unknown[]]
  ? unknown
  : { readonly "the key function takes other arguments than the method": Args };

type Skipping<Options, Result> = Options extends { readonly onBusy: "skip" }
  ? undefined extends Result
    ? unknown
    : { readonly "a skipped method resolves with undefined, which its return type does not allow": Result }
  : unknown;

/** The scheduler calls the method without arguments. */
type ScheduledMethod = () => Promise<unknown>;

/**
 * Runs a method under a lock, and keeps the metadata of other decorators. Works in providers, controllers and resolvers of any scope.
 *
 * @example
 * @Locked((id: string) => `order:${id}`, { waitMs: 5_000 })
 * async pay(id: string, amount: number): Promise<void> {}
 * @param key of the lock, or a function that makes it from the arguments; several keys make a multi lock
 * @throws TypeError when the class is defined; the method throws the errors of `using` and `tryUsing`
 */
export function Locked<
  Args extends readonly unknown[] = [],
  const Options extends LockedMethodOptions = LockedMethodOptions,
>(key: KeyNames | ((...args: Args) => KeyNames), given: Options): MethodDecorating<Args, Options> {
  // A caller without TypeScript may leave out the options: `locked` then throws.
  const { client, ...options }: LockedMethodOptions = { ...given };
  return (target, property, descriptor) => {
    if (typeof key !== "function" && [key].flat().some((name) => typeof name !== "string" || name === ""))
      throw new TypeError(`@Locked of ${where(target, property)} needs a non-empty key`);
    const find = findIn(target, client);
    try {
      const decorated = locked(find, key, options)(target, property, descriptor as never);
      return keepingMetadata(descriptor, decorated as unknown as typeof descriptor);
    } catch (error) {
      throw new TypeError(`@Locked of ${where(target, property)}: ${messageOf(error)}`, { cause: error });
    }
  };
}

/**
 * Runs a scheduled method in only one process of a fleet at each scheduled time.
 *
 * @example
 * @Cron("0 2 * * *")
 * @RunOnce({ gridMs: 60_000 })
 * async report(): Promise<void> {}
 * @throws RangeError, TypeError when the class is defined; the method throws the errors of `runOnce`
 */
export function RunOnce(
  given: RunOnceMethodOptions,
): <M extends ScheduledMethod>(
  target: object,
  property: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
) => TypedPropertyDescriptor<M> {
  return (target, property, descriptor) => {
    const { client, name, ...options }: RunOnceMethodOptions = { ...given };
    const find = findIn(target, client);
    const method = descriptor.value;
    const job = name ?? where(target, property);
    // Without a grid, `runOnce` would count the calls of two processes as two scheduled times.
    if (!Number.isInteger(options.gridMs / 1_000) || options.gridMs < 1_000)
      throw new RangeError(
        `@RunOnce of ${job} needs gridMs, whole seconds in milliseconds, as 60_000 for a schedule of minutes, got ${options.gridMs}`,
      );
    if (typeof method !== "function" || method.length > 0)
      throw new TypeError(
        `RunOnce is for methods without arguments, which a scheduler calls: ${job} is not such a method`,
      );
    const value = async function (this: object): Promise<unknown> {
      const run = () => Reflect.apply(method, this, []) as Promise<unknown>;
      const once = await runOnce(find(this), { ...options, name: job, fireTime: Date.now() }, run);
      return once.value;
    };
    Object.defineProperty(value, "name", { value: method.name, configurable: true });
    return keepingMetadata(descriptor, { ...descriptor, value: value as unknown as typeof method });
  };
}

function where(target: object, property: string | symbol): string {
  return `${target.constructor.name}.${String(property)}`;
}

/** Makes Nest inject the client into the object with the decorated method. @returns a function that finds the client in the object */
function findIn(target: object, client: string | undefined): (self: object) => Holdfast {
  const token = getHoldfastToken(client);
  // Nest prints this name if the module is missing.
  const place = Symbol.for(`${token} of HoldfastModule.forRoot()`);
  Inject(token)(target, place);
  return (self) => {
    const holdfast = (self as Record<symbol, unknown>)[place];
    if (holdfast !== undefined) return holdfast as Holdfast;
    const of = client === undefined ? "" : ` with the name "${client}"`;
    throw new Error(
      `HoldfastModule${of} is not imported, or Nest has not made this ${self.constructor.name}: its locked methods find no client. In a test, list the class in providers, beside HoldfastModule.forTesting()`,
    );
  };
}

/** Copies the metadata of the decorators below to the method that replaces the decorated method. */
function keepingMetadata<M>(
  { value: from }: TypedPropertyDescriptor<M>,
  decorated: TypedPropertyDescriptor<M>,
): TypedPropertyDescriptor<M> {
  const { value: to } = decorated;
  for (const key of Reflect.getMetadataKeys(from as object))
    Reflect.defineMetadata(key, Reflect.getMetadata(key, from as object), to as object);
  return decorated;
}
