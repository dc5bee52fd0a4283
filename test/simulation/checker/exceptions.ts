/** What may make two believe in one lock at a time. */
const OVERLAPS = [
  "believed after forceUnlock",
  "believed after a loss of data",
  "failover-lost",
  "slept through a move and a failover",
] as const;

export type Overlap = (typeof OVERLAPS)[number];

/** For which of them tokens of a fenced lock may not grow. */
const AGAIN = [
  "token again: believed after forceUnlock",
  "token again: believed after a loss of data",
  "token again: failover-lost",
] as const;

export type TokenAgain = (typeof AGAIN)[number];

/** What may have become of a permit that is believed. */
const FATES = ["deleted", "released by its id", "shortened by another process"] as const;

export type Fate = (typeof FATES)[number];

/**
 * All that is documented as possible although it is less than what is promised otherwise. Nothing else is excused, and each has a
 * schedule that shows it.
 */
export const EXCEPTIONS: readonly ExceptionName[] = [
  ...OVERLAPS,
  ...AGAIN,
  ...FATES.map((fate) => `a permit is believed that was ${fate}` as const),
  "permits of a process that was killed",
  "permanent permits of a process that was killed",
  "permits of a client that was closed",
  "permits whose release was tried in vain for a minute",
  "counts of a process that was killed",
];

export type ExceptionName =
  | Overlap
  | TokenAgain
  | `a permit is believed that was ${Fate}`
  | "permits of a process that was killed"
  | "permanent permits of a process that was killed"
  | "permits of a client that was closed"
  | "permits whose release was tried in vain for a minute"
  | "counts of a process that was killed";
