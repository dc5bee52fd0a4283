import type { Commands } from "./commands.js";

/** Divides what is about many keys into what one command can name, and that into parts of a size at most. */
export function batches<T extends { readonly key: string }>(
  commands: Pick<Commands, "slotOf">,
  items: Iterable<T>,
  size: number,
): readonly (readonly T[])[] {
  const slots = new Map<number, T[][]>();
  for (const item of items) {
    const slot = commands.slotOf(item.key);
    const parts = slots.get(slot) ?? [];
    slots.set(slot, parts);
    const last = parts.at(-1);
    if (last === undefined || last.length >= size) parts.push([item]);
    else last.push(item);
  }
  return [...slots.values()].flat();
}
