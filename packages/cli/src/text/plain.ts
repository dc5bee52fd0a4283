import truncatedWidth from "fast-string-truncated-width";

/**
 * Text of a stranger in a safe form: control characters and marks that change the direction of text become escapes, so that a name can
 * neither move the cursor nor look like another name.
 */
export function plain(text: string): string {
  return text.replace(hidden, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** Control characters, line and paragraph ends, marks of direction, joiners, halves of surrogate pairs, and invisible letters. */
export const hidden: RegExp =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]|\u034f|\u17b4|\u17b5|\u180b|\u180c|\u180d|\u180f/gu;

/** How many columns of a terminal the text takes: wide characters take two. */
export function widthOf(text: string): number {
  return truncatedWidth(text).width;
}

/** The text, cut to this many columns, with `…` at the cut. */
export function cut(text: string, columns: number): string {
  const { truncated, ellipsed, index } = truncatedWidth(text, {
    limit: columns,
    ellipsis: "…",
    ellipsisWidth: 1,
  });
  return truncated ? `${text.slice(0, index)}${ellipsed ? "…" : ""}` : text;
}

/** The text, cut to this many columns, with `…` in the middle, because names that begin alike mostly differ at the end. */
export function cutMiddle(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  const characters = [...graphemes.segment(text)].map(({ segment }) => segment);
  const room = Math.max(0, columns - 1);
  const tail = fitting(characters.toReversed(), Math.floor(room / 2)).reverse();
  const head = fitting(characters, room - widthOf(tail.join("")));
  return columns > 0 ? `${head.join("")}…${tail.join("")}` : "";
}

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

/** As many of the first characters as fit. */
function fitting(characters: readonly string[], columns: number): string[] {
  let left = columns;
  const end = characters.findIndex((character) => {
    left -= widthOf(character);
    return left < 0;
  });
  return characters.slice(0, end < 0 ? characters.length : end);
}

/** The text in lines of at most this many columns, broken between words. A longer word gets its own line. */
export function wrapped(text: string, columns: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line !== undefined && widthOf(line) + 1 + widthOf(word) <= columns)
      lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}
