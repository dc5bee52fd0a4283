/** How many characters of a stranger's text to show. */
export const LONGEST_SHOWN = 200;

/** Control characters, halves of surrogate pairs, line and paragraph ends, and invisible characters, such as marks of direction. */
const HIDDEN = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * Text of a stranger in a safe form, for text nodes only: hidden characters, and marks that change the direction of the text beside them,
 * become escapes. The end of a long text becomes `…`.
 */
export function shown(text: string): string {
  // This many characters are enough to see that a text is too long: a text of a megabyte is not read to its end.
  const start = [...text.slice(0, 2 * LONGEST_SHOWN + 2)];
  const cut = start.length > LONGEST_SHOWN;
  const kept = cut ? start.slice(0, LONGEST_SHOWN).join("") : start.join("");
  return escaped(kept) + (cut ? "…" : "");
}

function escaped(text: string): string {
  return text.replace(HIDDEN, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
