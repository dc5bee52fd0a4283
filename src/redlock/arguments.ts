import { shown } from "../checks.js";

/** @throws TypeError */
export function namesOf(resources: string | readonly string[]): readonly string[] {
  const names = typeof resources === "string" ? [resources] : [...new Set(resources)];
  if (names.length === 0)
    throw new TypeError(`redlock needs a resource to lock, got ${shown(resources)} without one`);
  return names;
}

/** Redlock 4 takes callbacks as well. @throws TypeError with what to write instead */
export function refuseCallback(given: unknown, call: string): void {
  if (typeof given !== "function") return;
  throw new TypeError(
    `holdfast/redlock answers by promises and takes no callback: write await redlock.${call}`,
  );
}
