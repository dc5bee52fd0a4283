import { hidden } from "./plain.js";

/**
 * A word in a form that every shell reads: unchanged, or in single quotes. Only for typed text, or for text without hidden characters: a
 * terminal acts on control characters even in quotes.
 */
export function shellWord(text: string): string {
  return /^[\w@%+:,./-][\w@%+=:,./-]*$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * A name as a word of a shell. If the name has hidden characters, the word has the hexadecimal digits of its bytes. Shells cannot hold a
 * zero byte, and do not agree on escapes.
 * @returns the word, and the option that goes with it
 */
export function nameWords(name: string): { readonly word: string; readonly options: readonly string[] } {
  if (name.search(hidden) < 0) return { word: shellWord(name), options: [] };
  return { word: Buffer.from(name).toString("hex"), options: ["--hex"] };
}
