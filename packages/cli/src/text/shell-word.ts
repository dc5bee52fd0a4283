import { plain } from "./plain.js";

/** A word as a shell reads it: as it is, in quotes, or with escapes that bash, zsh and ksh read where it has characters that hide. */
export function shellWord(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  if (plain(text) === text) return `'${text.replaceAll("'", "'\\''")}'`;
  const escaped = plain(text.replace(/[\\']/g, "\\$&")).replace(
    /\\u\{([0-9a-f]+)\}/g,
    (_, code: string) => `\\U${code.padStart(8, "0")}`,
  );
  return `$'${escaped}'`;
}
