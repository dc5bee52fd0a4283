import { expect } from "vitest";
import type { HoldfastError } from "../../../src/errors.js";

/** A user's function: its name is to be found in the stack of every error that a call of it rejects with. */
async function functionOfMyProgram(call: () => unknown): Promise<void> {
  await call();
}

/** What a call rejects with that a user's function awaits. */
export async function rejectionOf(call: () => unknown): Promise<unknown> {
  try {
    await functionOfMyProgram(call);
  } catch (error) {
    return error;
  }
  throw new Error("the call did not fail");
}

/** The error is of a class, tells whose caller it is for in its stack, and what the call was about in its text. */
export function expectToldWhere(
  error: unknown,
  type: abstract new (...args: never[]) => HoldfastError,
  name: string,
): void {
  expect(error).toBeInstanceOf(type);
  const { message, stack, name: className } = error as Error;
  expect(message).toContain(`"${name}"`);
  expect(stack).toContain("functionOfMyProgram");
  // Consoles print the stack alone.
  expect(stack).toContain(`${className}: ${message}\n`);
}

/** As many frames as Node shows unless told otherwise. Test runners ask for more. */
export const FRAMES_OF_NODE = 10;
