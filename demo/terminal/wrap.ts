import { stripVTControlCharacters } from "node:util";

/** How many columns a text takes, colours left out. */
export function visibleLength(text: string): number {
  return stripVTControlCharacters(text).length;
}

/**
 * Breaks a line at its spaces so that no part is wider than `columns`. The parts that follow the first are indented
 * by `hang`. A line that fits is left alone, however many spaces it has.
 */
export function wrap(line: string, columns: number, hang: string): string[] {
  if (visibleLength(line) <= columns) return [line];
  const [first = "", ...words] = line.match(/ *[^ ]+/g) ?? [];
  const lines: string[] = [];
  let current = first;
  for (const word of words) {
    if (visibleLength(current + word) <= columns) {
      current += word;
    } else {
      lines.push(current);
      current = hang + word.trimStart();
    }
  }
  return [...lines, current];
}
