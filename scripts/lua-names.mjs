// @ts-check
/** Short names for what is local in Lua: the scripts are a fifth of the package, and their names a good part of that. */

/** A string, a name, or one other character. */
const TOKEN = /"(?:[^"\\\n]|\\.)*"|[A-Za-z_]\w*|\S/g;
const KEYWORDS = new Set(
  "and break do else elseif end false for function goto if in local nil not or repeat return then true until while".split(
    " ",
  ),
);

/** A name of fewer letters stays as it is. */
const SHORTEST = 3;

/**
 * The same texts with short names for all local variables, parameters and functions: the initials of the words, `nm` for `now_ms`. A name is
 * the same in all texts, as they include each other, and stays what it is as long as no other with its initials comes. A name that is also
 * that of a field, of a table or of a global is left as it is.
 *
 * @param {readonly string[]} texts
 * @returns {string[]}
 */
export function withShortNames(texts) {
  const names = shortNames(texts);
  return texts.map((text) => text.replace(TOKEN, (token) => names.get(token) ?? token));
}

/** @param {readonly string[]} texts */
function shortNames(texts) {
  /** @type {Set<string>} */
  const locals = new Set();
  /** @type {Set<string>} */
  const others = new Set();
  /** @type {Set<string>} */
  const taken = new Set(KEYWORDS);
  for (const tokens of texts.map(tokensOf)) {
    sort(tokens, locals, others);
    for (const token of tokens) if (isName(token)) taken.add(token);
  }
  /** @type {Map<string, string>} */
  const names = new Map();
  for (const name of [...locals].sort()) {
    if (others.has(name) || name.length < SHORTEST) continue;
    const short = freeName(name, taken);
    if (short.length >= name.length) continue;
    taken.add(short);
    names.set(name, short);
  }
  return names;
}

/** @param {string} text */
function tokensOf(text) {
  return [...text.matchAll(TOKEN)].map(([token]) => token);
}

/**
 * @param {readonly string[]} tokens
 * @param {Set<string>} locals gets what is declared as local, a parameter or the variable of a loop
 * @param {Set<string>} others gets fields, and keys in the constructor of a table
 */
function sort(tokens, locals, others) {
  /** @type {string[]} */
  const brackets = [];
  for (const [at, token] of tokens.entries()) {
    if ("{(".includes(token)) brackets.push(token);
    else if ("})".includes(token)) brackets.pop();
    if (token === "local") declare(tokens, tokens[at + 1] === "function" ? at + 2 : at + 1, locals);
    else if (token === "for") declare(tokens, at + 1, locals);
    else if (token === "function") declare(tokens, tokens.indexOf("(", at) + 1, locals);
    else if (isName(token)) {
      const isField = [".", ":"].includes(tokens[at - 1] ?? "") && tokens[at - 2] !== ".";
      const isKey = brackets.at(-1) === "{" && tokens[at + 1] === "=" && tokens[at + 2] !== "=";
      if (isField || isKey) others.add(token);
    }
  }
}

/**
 * Names with commas between them.
 *
 * @param {readonly string[]} tokens
 * @param {number} from
 * @param {Set<string>} locals
 */
function declare(tokens, from, locals) {
  for (let at = from; isName(tokens[at] ?? ""); at += 2) {
    locals.add(tokens[at] ?? "");
    if (tokens[at + 1] !== ",") return;
  }
}

/** @param {string} token */
function isName(token) {
  return /^[A-Za-z_]\w*$/.test(token) && !KEYWORDS.has(token);
}

/**
 * @param {string} name
 * @param {ReadonlySet<string>} taken
 */
function freeName(name, taken) {
  const initials = name
    .split("_")
    .map(([letter]) => letter)
    .join("");
  for (let count = 1; ; count += 1) {
    const short = count === 1 ? initials : `${initials}${count}`;
    if (!taken.has(short)) return short;
  }
}
