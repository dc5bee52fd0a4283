import { environment } from "./environment.js";

/**
 * Asserts a condition that a correct program always meets, whatever callers, servers and networks do. If the condition is not met, this
 * also emits a warning, because work in the background drops the error.
 * @throws Error that names the broken condition
 */
export function invariant(holds: boolean, broken: string): void {
  if (holds) return;
  const message = `bug in holdfast: ${broken}`;
  environment.warn(message, "HoldfastWarning");
  throw new Error(message);
}
