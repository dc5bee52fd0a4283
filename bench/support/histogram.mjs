/** Buckets for each doubling: a value is known to within 2.2 %. */
const PER_OCTAVE = 32;
/** Up to 2^36 microseconds, nineteen hours. */
const BUCKETS = 36 * PER_OCTAVE;

/** Counts times by their logarithm: of constant size, and the sum of two is that of all they have counted. */
export class Histogram {
  /** @readonly */
  counts;

  /** @param {readonly number[]} [counts] of another one */
  constructor(counts) {
    this.counts = counts === undefined ? /** @type {number[]} */ (new Array(BUCKETS).fill(0)) : [...counts];
  }

  /** @param {number} us microseconds */
  add(us) {
    const bucket = us <= 1 ? 0 : Math.min(BUCKETS - 1, Math.floor(Math.log2(us) * PER_OCTAVE));
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
  }

  /** @param {readonly number[]} counts of another one */
  addAll(counts) {
    counts.forEach((count, bucket) => {
      this.counts[bucket] = (this.counts[bucket] ?? 0) + count;
    });
  }

  /**
   * The time that so large a part of all does not exceed, in microseconds.
   *
   * @param {number} part 0 to 1
   */
  quantile(part) {
    const total = this.counts.reduce((sum, count) => sum + count, 0);
    let left = part * total;
    const bucket = this.counts.findIndex((count) => {
      left -= count;
      return count > 0 && left <= 0;
    });
    return bucket < 0 ? Number.NaN : 2 ** ((bucket + 0.5) / PER_OCTAVE);
  }
}
