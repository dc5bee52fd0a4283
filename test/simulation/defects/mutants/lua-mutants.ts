import { type Change, COMPARISONS, type Mutant, mutantsOf } from "./mutant.js";

interface Token {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** Comments and strings first, so that nothing in them is taken for code. */
const TOKEN =
  /--\[\[[\s\S]*?\]\]|--[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[A-Za-z_][\w]*|\d[\w.]*|==|~=|<=|>=|\.\.\.?|[^\s\w]/g;

const WORDS: Readonly<Record<string, string>> = { and: "or", or: "and" };
const EQUALITIES: Readonly<Record<string, string>> = { "==": "~=", "~=": "==" };
const SUMS: Readonly<Record<string, string>> = { "+": "-", "-": "+" };
const CALL =
  /^[ \t]*(?:redis\.p?call|publish|announce|leave|leave_front|pass_on|reclaim|raise_ttl|keep_queue|keep_signs_of_life|lock_changed|queue_changed|forget_settled|even_when_full|save_no_more|leave_if_there|bring_nearer|prolong|lease|unmark|mark_alive|mend|keep|settle|give_back)\(/;

/** All mutants of a Lua script. */
export function luaMutants(file: string, source: string): readonly Mutant[] {
  const tokens = tokensOf(source);
  const changes = tokens.flatMap((token, at) => changesOf(token, tokens[at + 1], source));
  changes.push(...droppedCalls(source));
  changes.sort((a, b) => a.start - b.start || a.operator.localeCompare(b.operator));
  return mutantsOf(file, source, changes);
}

function tokensOf(source: string): readonly Token[] {
  const tokens = [...source.matchAll(TOKEN)].map(({ 0: text, index }) => {
    return { text, start: index, end: index + text.length };
  });
  return tokens.filter(({ text }) => !/^(?:--|["'])/.test(text));
}

function changesOf({ text, start, end }: Token, next: Token | undefined, source: string): readonly Change[] {
  const others = [
    COMPARISONS[text]?.map((other) => other) ?? [],
    EQUALITIES[text] ?? [],
    WORDS[text] ?? [],
  ].flat();
  const changes = others.map((other) => changed(start, end, other, `${text} to ${other}`));
  if (text === "not") changes.push(changed(start, end, "", "not dropped"));
  const turned = SUMS[text];
  if (turned !== undefined && next?.text === "1" && isBinary(source, start)) {
    changes.push(changed(start, end, turned, `${text} to ${turned}`));
    changes.push(changed(start, next.end, "", `${text} 1 dropped`));
  }
  return changes;
}

/** Not the sign of a number. */
function isBinary(source: string, at: number): boolean {
  const before = source.slice(Math.max(0, at - 20), at);
  return /[\w)\]]\s*$/.test(before) && !/\b(?:and|or|not|return)\s*$/.test(before);
}

/** Calls that stand by themselves on a line of their own. */
function droppedCalls(source: string): readonly Change[] {
  const body = source.replace(/^\s*--\[\[[\s\S]*?\]\]/, (header) => " ".repeat(header.length));
  const changes: Change[] = [];
  let start = 0;
  for (const line of body.split("\n")) {
    if (CALL.test(line) && line.trimEnd().endsWith(")")) {
      changes.push(changed(start + line.search(/\S/), start + line.length, "", "call dropped"));
    }
    start += line.length + 1;
  }
  return changes;
}

function changed(start: number, end: number, replacement: string, operator: string): Change {
  return { start, end, replacement, operator: operator.replaceAll(" ", "-") };
}
