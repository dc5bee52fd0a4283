/** The result for no holds. */
export const NO_VALUES: readonly number[] = [];

/**
 * One value for each of the first `count` holds of a stay, in the order in which Redis counts them.
 * @param live the live holds, in the order of their numbers
 * @param value returns the value of a hold; gets undefined for a number that no live hold has
 */
export function bySlot<H extends { readonly slot: number }>(
  live: readonly H[],
  count: number,
  value: (hold: H | undefined) => number,
): readonly number[] {
  let next = 0;
  return Array.from({ length: count }, (_, at) => {
    const hold = live[next]?.slot === at + 1 ? live[next] : undefined;
    if (hold !== undefined) next += 1;
    return value(hold);
  });
}
