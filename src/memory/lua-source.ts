/**
 * Also matches comments, texts and names, so that nothing inside them counts as a numeral or an operator. Group 2 is a quoted text, group 3
 * a numeral with the characters directly after it, group 4 syntax that Lua 5.1 or 5.3 lacks, or that they evaluate differently.
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
/** A text with an escape that Lua 5.1 and 5.3 do not share. */
const FOREIGN_ESCAPE = /^(?:[^\\]|\\[abfnrtv\\"'\n\d])*\\[^abfnrtv\\"'\n\d]/;
/** A power of two is exact on all machines. */
const POWER_OF_TWO = /(?<![\w.])2\s*\^\s*\d+(?![\w.])/g;

/** The name of the value that scripts find between the two operands of each `..`. */
export const JOINT = "__joint";

/**
 * Rewrites a Lua 5.1 source for fengari, which is Lua 5.3.
 *
 * Whole numbers are written as floats, the only numbers of Lua 5.1. fengari takes `1000` for a 32-bit integer, and calculates with integers
 * modulo 2^32. Joined to a text, the float 2 is "2.0" in Lua 5.3 and "2" in 5.1, and Lua calls no metamethod if both operands are texts or
 * numbers. So a table with a metamethod comes between them.
 * @throws SyntaxError for syntax that Lua 5.1 lacks or reads differently
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
