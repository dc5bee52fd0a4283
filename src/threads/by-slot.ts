/** The values of no holds. */
export const NO_VALUES: readonly number[] = [];

/**
 * One value for each of the first holds of a stay, in the order in which Redis counts them.
 * @param value gets undefined where there is no hold under that number any more
 */
export function bySlot<H extends { readonly slot: number }>(
  live: readonly H[],
  count: number,
  value: (hold: H | undefined) => number,
): readonly number[] {
  const holds = new Map(live.map((hold) => [hold.slot, hold]));
  return Array.from({ length: count }, (_, at) => value(holds.get(at + 1)));
}
