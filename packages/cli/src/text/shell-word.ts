import { hidden } from "./plain.js";

/**
 * A word as every shell reads it: as it is, or in single quotes. For text that was typed, or has no character that hides: a terminal acts on
 * what stands in quotes.
 */
export function shellWord(text: string): string {
  return /^[\w@%+:,./-][\w@%+=:,./-]*$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * A name in words of a shell. One with characters that hide, such as a zero byte, which no shell can hold, is given by the digits of its
 * bytes: shells and their locales do not agree on escapes.
 * @returns the word, and the option that goes with it
 */
export function nameWords(name: string): { readonly word: string; readonly options: readonly string[] } {
  if (name.search(hidden) < 0) return { word: shellWord(name), options: [] };
  return { word: Buffer.from(name).toString("hex"), options: ["--hex"] };
}
