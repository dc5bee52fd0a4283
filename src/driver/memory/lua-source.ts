/** What is matched is passed over, so that nothing inside is taken for a numeral; only group 2 is one. */
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

/**
 * Writes the whole numbers of a Lua 5.1 source as floats, the only numbers that Lua 5.1 has. fengari takes
 * `1000` for an integer of 32 bits, and integers calculate among themselves modulo 2^32.
 */
export function withFloatNumerals(lua: string): string {
  return lua.replace(TOKEN, (token, _level, numeral: string | undefined) => {
    if (numeral === undefined) return token;
    if (/^\d+$/.test(numeral)) return `${numeral}.0`;
    return /^0x/i.test(numeral) ? `${BigInt(numeral)}.0` : token;
  });
}
