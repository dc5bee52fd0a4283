/** Pseudo-random numbers that come again with their seed. */
export interface SeededRandom {
  readonly seed: number;
  /** A whole number from 0 to `limit` - 1. */
  below(limit: number): number;
}

/** Prints the seed. Set HOLDFAST_SEED to run with the same one again. Generator: mulberry32. */
export function seededRandom(): SeededRandom {
  const given = process.env["HOLDFAST_SEED"];
  const seed = given === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(given);
  console.info(`HOLDFAST_SEED=${seed}`);
  let state = seed;
  return {
    seed,
    below(limit) {
      state = (state + 0x6d2b79f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
    },
  };
}
