/**
 * Comments, texts and names are matched as well, so that nothing inside them is taken for a numeral or an operator. Group 2 is a text in
 * quotes, group 3 a numeral with what stands right behind it, group 4 is what one of the grammars does not have, or calculates otherwise.
 */
const TOKEN = new RegExp(
  [
    /(?:--)?\[(=*)\[[\s\S]*?\]\1\]/,
    /--.*/,
    /("(?:\\[\s\S]|[^"\\])*"|'(?:\\[\s\S]|[^'\\])*')/,
    /\.{2,3}/,
    /((?:0[xX][\dA-Fa-f]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[\w.]*)/,
    /(\bgoto\b|\bbreak\b(?!\s*;?\s*(?:end|else|elseif|until)\b)|;\s*;|\/\/|<<|>>|::|~(?!=)|[&|%^])/,
    /[A-Za-z_]\w*/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "g",
);
const NUMERAL = /^(?:0[xX][\dA-Fa-f]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)$/;
/** What an escape of both grammars has behind its backslash. */
const FOREIGN_ESCAPE = /^(?:[^\\]|\\[abfnrtv\\"'\n\d])*\\[^abfnrtv\\"'\n\d]/;
/** A power of two is exact on all machines. */
const POWER_OF_TWO = /(?<![\w.])2\s*\^\s*\d+(?![\w.])/g;

/** The name under which a script finds what stands between the two operands of each `..`. */
export const JOINT = "__joint";

/**
 * A Lua 5.1 source as fengari, which speaks 5.3, has to read it.
 *
 * Whole numbers are written as floats, the only numbers that Lua 5.1 has. fengari takes `1000` for an integer of 32 bits, and
 * integers calculate among themselves modulo 2^32. Joined to a text, the float 2 is "2.0" in Lua 5.3 and "2" in 5.1, and no
 * function is asked where both operands are texts or numbers; so a table comes between them, which is.
 * @throws SyntaxError for what means something else in Lua 5.1, or nothing
 */
export function forLua53(lua: string): string {
  const powers = new Set(
    Array.from(lua.matchAll(POWER_OF_TWO), ({ 0: all, index }) => index + all.indexOf("^")),
  );
  return lua.replace(TOKEN, (token, _level, text?: string, numeral?: string, foreign?: string, at = 0) => {
    if (token === "..") return `..${JOINT}..`;
    const isForeign = foreign !== undefined && !powers.has(at);
    if (isForeign || (text !== undefined && FOREIGN_ESCAPE.test(text))) throw notInBoth(token);
    if (numeral === undefined) return token;
    if (!NUMERAL.test(numeral)) throw notInBoth(numeral);
    if (/^\d+$/.test(numeral)) return `${numeral}.0`;
    return /^0x/i.test(numeral) ? `${BigInt(numeral)}.0` : token;
  });
}

function notInBoth(token: string): SyntaxError {
  return new SyntaxError(`the embedded server does not compile ${token}`);
}
