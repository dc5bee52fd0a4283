/** @param {readonly number[]} values not empty */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}

/**
 * The value that so large a part of all does not exceed.
 *
 * @param {readonly number[]} values not empty
 * @param {number} part 0 to 1
 */
export function quantile(values, part) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN;
}

/**
 * Jain's index of fairness: 1 when all have had the same, 1/n when one has had everything.
 *
 * @param {readonly number[]} shares
 */
export function jainIndex(shares) {
  const sum = shares.reduce((total, share) => total + share, 0);
  const squares = shares.reduce((total, share) => total + share * share, 0);
  return squares === 0 ? 0 : (sum * sum) / (shares.length * squares);
}
