import { AsyncLocalStorage } from "node:async_hooks";

/** What all storages have in one flow, by what stands for each of them. */
type Values = ReadonlyMap<object, unknown>;

/**
 * Up to Node 22 each promise is told to every `AsyncLocalStorage` that was ever used and not disabled. A client disables its own
 * when it is closed, which those of killed processes never are; and those that live have each promise told to each of them, of
 * which a red lock's process has five. So all storages share one, in which a flow has the values of all, as Node does it from 24 on.
 */
const { run, getStore, disable, enterWith } = AsyncLocalStorage.prototype;
const UNUSED = "the simulator has no such use of an AsyncLocalStorage";
const shared = new AsyncLocalStorage<Values>();
/** Stands for a storage until it is disabled: what was stored under it is not found any more. */
const keys = new WeakMap<object, object>();

const values = (): Values | undefined => Reflect.apply(getStore, shared, []) as Values | undefined;

function keyOf(storage: object): object {
  const known = keys.get(storage);
  if (known !== undefined) return known;
  const key = {};
  keys.set(storage, key);
  return key;
}

AsyncLocalStorage.prototype.run = function (this: object, store: unknown, ...call: unknown[]) {
  const all = new Map(values()).set(keyOf(this), store);
  return Reflect.apply(run, shared, [all, ...call]) as unknown;
} as typeof run;

// From 24 on `run` itself calls `getStore` and `enterWith` of its storage, which is the shared one.
AsyncLocalStorage.prototype.getStore = function (this: object) {
  if (this === shared) return values();
  const key = keys.get(this);
  return key === undefined ? undefined : values()?.get(key);
};

AsyncLocalStorage.prototype.disable = function (this: object) {
  keys.delete(this);
};

// From 26 on a channel with bound stores has them enter a value, and later the one before.
AsyncLocalStorage.prototype.enterWith = function (this: object, store: unknown) {
  const all = this === shared ? store : new Map(values()).set(keyOf(this), store);
  Reflect.apply(enterWith, shared, [all]);
};

AsyncLocalStorage.prototype.exit = () => {
  throw new Error(UNUSED);
};

/** Disables all that were used since the last time. Nothing of the run that used them may go on. */
export function disableScopes(): void {
  Reflect.apply(disable, shared, []);
}
