import { environment } from "./environment.js";

/**
 * Asserts what is true in a correct program, whatever callers, servers and networks do. If broken it also emits a warning: work in
 * the background drops the error.
 * @throws Error that names what is broken
 */
export function invariant(holds: boolean, broken: string): void {
  if (holds) return;
  const message = `bug in holdfast: ${broken}`;
  environment.warn(message, "HoldfastWarning");
  throw new Error(message);
}
