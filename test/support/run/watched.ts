/** A promise that a test looks at without waiting for it. Never rejects. */
export interface Watched<T> {
  outcome: { readonly value: T } | { readonly error: unknown } | undefined;
}

export function watched<T>(promise: Promise<T>): Watched<T> {
  const seen: Watched<T> = { outcome: undefined };
  promise.then(
    (value) => {
      seen.outcome = { value };
    },
    (error: unknown) => {
      seen.outcome = { error };
    },
  );
  return seen;
}
