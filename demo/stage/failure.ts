/** Something that keeps the demo from going on, said in one line. */
export class StageError extends Error {}

export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
