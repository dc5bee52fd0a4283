import { AsyncLocalStorage } from "node:async_hooks";

/**
 * Up to Node 22 each promise is told to every `AsyncLocalStorage` that was ever used and not disabled. A client disables its own
 * when it is closed, which those of killed processes never are: without this, each schedule would slow down all that follow.
 */
const used = new Set<AsyncLocalStorage<unknown>>();
const { run } = AsyncLocalStorage.prototype;

AsyncLocalStorage.prototype.run = function (
  this: AsyncLocalStorage<unknown>,
  ...args: Parameters<typeof run>
) {
  used.add(this);
  return Reflect.apply(run, this, args);
} as typeof run;

/** Disables all that were used since the last time. Nothing of the run that used them may go on. */
export function disableScopes(): void {
  for (const storage of used) storage.disable();
  used.clear();
}
