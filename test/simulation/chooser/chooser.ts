/**
 * The only source of chance of a run. Each actor draws from a stream of its own, so that taking one actor away changes
 * nothing for the others.
 */
export interface Chooser {
  /** The stream of that name: the same one for each call. */
  stream(name: string): Stream;
  /** All that was chosen so far, by stream. */
  readonly made: Choices;
}

export interface Stream {
  /** A whole number from 0 to `count` - 1. 0 is always the plainest: no fault, no delay, the first of a list. */
  choose(count: number): number;
}

export type Choices = Readonly<Record<string, readonly number[]>>;
