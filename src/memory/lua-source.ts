/** Comments, strings and names are matched as well, so that no digit inside them is taken for a numeral; group 2 is a numeral. */
const TOKEN = new RegExp(
  [
    /(?:--)?\[(=*)\[[\s\S]*?\]\1\]/,
    /--.*/,
    /"(?:\\[\s\S]|[^"\\])*"|'(?:\\[\s\S]|[^'\\])*'/,
    /[A-Za-z_]\w*|\.{2,3}/,
    /(0[xX][\dA-Fa-f]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "g",
);

/** The name under which a script finds what stands between the two operands of each `..`. */
export const JOINT = "__joint";

/**
 * A Lua 5.1 source as fengari, which speaks 5.3, has to read it.
 *
 * Whole numbers are written as floats, the only numbers that Lua 5.1 has. fengari takes `1000` for an integer of 32 bits, and
 * integers calculate among themselves modulo 2^32. Joined to a text, the float 2 is "2.0" in Lua 5.3 and "2" in 5.1, and no
 * function is asked where both operands are texts or numbers; so a table comes between them, which is.
 */
export function forLua53(lua: string): string {
  return lua.replace(TOKEN, (token, _level, numeral: string | undefined) => {
    if (token === "..") return `..${JOINT}..`;
    if (numeral === undefined) return token;
    if (/^\d+$/.test(numeral)) return `${numeral}.0`;
    return /^0x/i.test(numeral) ? `${BigInt(numeral)}.0` : token;
  });
}
