/** `1.25 s`. */
export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(2)} s`;
}

/** `2.803 s`, where a millisecond matters. */
export function exactSeconds(ms: number): string {
  return `${(ms / 1_000).toFixed(3)} s`;
}

/** `8 ms`, or `1.25 s` for what is longer than a second. */
export function span(ms: number): string {
  return ms < 1_000 ? `${Math.max(Math.round(ms), 0)} ms` : seconds(ms);
}
