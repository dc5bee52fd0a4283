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
  const lead = /^ */.exec(line)?.[0] ?? "";
  const lines: string[] = [];
  let current = lead;
  let isEmpty = true;
  for (const word of line.trim().split(/ +/)) {
    if (!isEmpty && visibleLength(current) + 1 + visibleLength(word) > columns) {
      lines.push(current);
      current = hang;
      isEmpty = true;
    }
    current += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines, current];
}
