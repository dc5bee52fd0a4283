import { shown } from "../checks.js";

/** The resources of a call, as it has given them. Redlock 4 also accepts one resource outside an array. @throws TypeError */
export function resourcesOf(given: string | readonly string[]): readonly string[] {
  if (typeof given === "string") return [given];
  if (!Array.isArray(given)) throw new TypeError(`resources must be an array of names, got ${shown(given)}`);
  return given;
}

/** Each resource once. Numbers, such as ids of databases, become texts. */
export function namesOf(resources: readonly string[]): readonly string[] {
  const names = resources.map((each: unknown) => (typeof each === "number" ? String(each) : each));
  return [...new Set(names as string[])];
}

/** Redlock 4 takes callbacks as well. @throws TypeError that names the replacement */
export function refuseCallback(given: unknown, call: string): void {
  if (typeof given !== "function") return;
  throw new TypeError(`holdfast/redlock returns promises and takes no callback: write await ${call}`);
}
