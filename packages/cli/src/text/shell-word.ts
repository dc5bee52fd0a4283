import { hidden, plain } from "./plain.js";

/** A word as a shell reads it: as it is, in quotes, or with escapes that bash, zsh and ksh read where it has characters that hide. */
export function shellWord(text: string): string {
  if (/^[\w@%+:,./-][\w@%+=:,./-]*$/.test(text)) return text;
  if (plain(text) === text) return `'${text.replaceAll("'", "'\\''")}'`;
  const escaped = text
    .replace(/[\\']/g, "\\$&")
    .replace(hidden, (character) => `\\U${(character.codePointAt(0) ?? 0).toString(16).padStart(8, "0")}`);
  return `$'${escaped}'`;
}
