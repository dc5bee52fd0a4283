import { wasRefused } from "./command-failures.js";
import type { Commands } from "./commands.js";

/**
 * Groups items by the slots of their keys, because a command in a cluster names keys of only one slot, and splits each group into parts of
 * at most `size`.
 */
export function batches<T extends { readonly key: string }>(
  commands: Pick<Commands, "slotOf">,
  items: Iterable<T>,
  size: number,
): readonly (readonly T[])[] {
  const slots = new Map<number, T[][]>();
  for (const item of items) {
    const slot = commands.slotOf(item.key);
    const parts = slots.get(slot);
    const last = parts?.at(-1);
    if (parts === undefined) slots.set(slot, [[item]]);
    else if (last === undefined || last.length >= size) parts.push([item]);
    else last.push(item);
  }
  return [...slots.values()].flat();
}

/**
 * Sends items in one command, or each by itself if the server refuses that: one bad key fails a whole command, and the keys of a slot are
 * on two servers while the slot moves.
 * @param send rejects if the server refused; its second argument says whether the command may be divided
 */
export async function inParts<T>(
  items: readonly T[],
  send: (part: readonly T[], divisible: boolean) => Promise<void>,
): Promise<void> {
  const divisible = items.length > 1;
  try {
    await send(items, divisible);
  } catch (error) {
    if (!divisible || !wasRefused(error)) throw error;
    await Promise.allSettled(items.map((item) => send([item], false)));
  }
}
