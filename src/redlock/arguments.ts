import { shown } from "../checks.js";

/** The resources of a call as it has given them. Redlock 4 takes one by itself. @throws TypeError */
export function resourcesOf(given: string | readonly string[]): readonly string[] {
  if (typeof given === "string") return [given];
  if (!Array.isArray(given)) throw new TypeError(`resources must be an array of names, got ${shown(given)}`);
  return given;
}

/** Each of them once, and numbers, as ids of databases are, in the words of a key. */
export function namesOf(resources: readonly string[]): readonly string[] {
  const names = resources.map((each: unknown) => (typeof each === "number" ? String(each) : each));
  return [...new Set(names as string[])];
}

/** Redlock 4 takes callbacks as well. @throws TypeError with what to write instead */
export function refuseCallback(given: unknown, call: string): void {
  if (typeof given !== "function") return;
  throw new TypeError(`holdfast/redlock returns promises and takes no callback: write await ${call}`);
}
