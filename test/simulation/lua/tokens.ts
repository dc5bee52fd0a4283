/** A construct that the compiler does not know: fengari runs such a script. */
export class Unknown extends Error {
  override readonly name = "Unknown";
}

export interface Token {
  readonly kind: "name" | "word" | "number" | "text" | "sign" | "end";
  /** A name, a keyword or a sign as it is written; the value of a text; a number as JavaScript writes it. */
  readonly text: string;
  readonly line: number;
}

const WORDS: ReadonlySet<string> = new Set(
  "and break do else elseif end false for function goto if in local nil not or repeat return then true until while".split(
    " ",
  ),
);

const TOKEN = new RegExp(
  [
    /(?<space>\s+|--\[(?<c>=*)\[[\s\S]*?\]\k<c>\]|--.*)/,
    /(?<long>\[(?<l>=*)\[[\s\S]*?\]\k<l>\])/,
    /(?<quoted>"(?:\\[\s\S]|[^"\\\n])*"|'(?:\\[\s\S]|[^'\\\n])*')/,
    /(?<name>[A-Za-z_]\w*)/,
    /(?<number>0[xX][\dA-Fa-f]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)/,
    /(?<sign>\.\.\.|\.\.|[=~<>]=|[-+*/%^#<>=(){}[\];:,.])/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "y",
);

export function tokensOf(lua: string): readonly Token[] {
  const tokens: Token[] = [];
  let line = 1;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < lua.length) {
    const at = TOKEN.lastIndex;
    const groups = TOKEN.exec(lua)?.groups;
    if (groups === undefined) throw new Unknown(`the character ${lua.charAt(at)}`);
    const { name, number, quoted, long, sign } = groups;
    if (name !== undefined) tokens.push({ kind: WORDS.has(name) ? "word" : "name", text: name, line });
    else if (number !== undefined) tokens.push({ kind: "number", text: String(Number(number)), line });
    else if (quoted !== undefined) tokens.push({ kind: "text", text: unquoted(quoted.slice(1, -1)), line });
    else if (sign !== undefined) tokens.push({ kind: "sign", text: sign, line });
    else if (long !== undefined) throw new Unknown("a text in long brackets");
    line += lua.slice(at, TOKEN.lastIndex).split("\n").length - 1;
  }
  tokens.push({ kind: "end", text: "", line });
  return tokens;
}

const ESCAPED: Readonly<Record<string, string>> = {
  n: "\n",
  r: "\r",
  t: "\t",
  "\\": "\\",
  '"': '"',
  "'": "'",
};

function unquoted(source: string): string {
  return source.replace(/\\(\d{1,3}|[\s\S])/g, (_, escaped: string) => {
    if (/^\d/.test(escaped)) return String.fromCharCode(Number(escaped));
    const found = ESCAPED[escaped];
    if (found === undefined) throw new Unknown(`the escape \\${escaped}`);
    return found;
  });
}
