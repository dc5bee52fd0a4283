/** Lua's classes of characters, as what stands between the brackets of a regular expression. */
const CLASSES: Readonly<Record<string, string>> = {
  a: "A-Za-z",
  d: "0-9",
  l: "a-z",
  s: "\\t-\\r ",
  u: "A-Z",
  w: "A-Za-z0-9",
  x: "A-Fa-f0-9",
  p: "!-\\/:-@\\[-`{-~",
};

const known = new Map<string, RegExp>();

/**
 * A pattern of Lua as a regular expression, which finds the same: both try what stands further left, and more of it, first.
 * Throws for what no regular expression can do, and for what no script of ours has: `%b`, `%f`, `%1`, `()`, `%W` in brackets.
 */
export function expressionOf(pattern: string): RegExp {
  const found = known.get(pattern);
  if (found !== undefined) return found;
  const made = new RegExp(translated(pattern), "g");
  known.set(pattern, made);
  return made;
}

function translated(pattern: string): string {
  let text = "";
  let at = 0;
  const refuse = () => new RangeError(`no compiled script knows the pattern ${JSON.stringify(pattern)}`);
  if (pattern.startsWith("^")) {
    text = "^";
    at = 1;
  }
  while (at < pattern.length) {
    const rest = pattern.slice(at);
    const single = rest === "$" ? null : /^(?:%(.)|(\[(?:%.|[^\]%])+\])|(\.)|([^()%[]))/s.exec(rest);
    if (single === null) {
      if (rest !== "$" && !/^(?:\((?!\))|\)(?![*+?-]))/.test(rest)) throw refuse();
      text += rest.charAt(0);
      at += 1;
      continue;
    }
    const [whole, escaped, set, any, literal] = single;
    at += whole.length;
    if (escaped !== undefined) text += escapedOf(escaped, refuse);
    else if (set !== undefined) text += setOf(set, refuse);
    else if (any !== undefined) text += "[\\s\\S]";
    else text += quoted(literal ?? "");
    const quantifier = /^[*+?-]/.exec(pattern.slice(at))?.[0];
    if (quantifier === undefined) continue;
    text += quantifier === "-" ? "*?" : quantifier;
    at += 1;
  }
  return text;
}

function escapedOf(escaped: string, refuse: () => Error): string {
  if (/[^A-Za-z0-9]/.test(escaped)) return quoted(escaped);
  const set = CLASSES[escaped.toLowerCase()];
  if (set === undefined) throw refuse();
  return CLASSES[escaped] === undefined ? `[^${set}]` : `[${set}]`;
}

function setOf(set: string, refuse: () => Error): string {
  const inside = set.slice(1, -1).replace(/%(.)|([\\^[])/gs, (part, escaped?: string, special?: string) => {
    if (special !== undefined) return `\\${special}`;
    if (escaped === undefined || /[^A-Za-z0-9]/.test(escaped)) return quoted(escaped ?? part);
    const found = CLASSES[escaped];
    if (found === undefined) throw refuse();
    return found;
  });
  // The sign of a set of all others was quoted with the rest.
  const isOthers = inside.startsWith("\\^") && set.startsWith("[^");
  return isOthers ? `[^${inside.slice(2)}]` : `[${inside}]`;
}

function quoted(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}
