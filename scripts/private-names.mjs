// @ts-check
import { parseSync } from "rolldown/utils";

/** @typedef {{ name: string, isCode: boolean }} Member isCode: something that stack traces name: a method, an accessor, a function in a field */
/** @typedef {{ start: number, end: number, name: string }} Mention */
/** @typedef {{ members: Member[], mentions: Mention[] }} PrivateNames of one class, in the order of the code */

/**
 * The minifier renames what is private in a class, whatever it is told to keep. Gives functions their names back, so that a stack trace has
 * `#meetServer` and not `#a`. Other fields keep their short names.
 *
 * @param {string} original
 * @param {string} minified the same code
 * @returns {string}
 * @throws Error when the two have not the same classes, or a class would have a name twice
 */
export function restorePrivateNames(original, minified) {
  const wanted = privateNames(original);
  const found = privateNames(minified);
  if (shapeOf(wanted) !== shapeOf(found))
    throw new Error("minified code has other classes than the original");
  const edits = found.flatMap(({ members, mentions }, nth) => {
    const names = new Map(
      members.map((member, i) => [member.name, newName(member, wanted[nth]?.members[i])]),
    );
    if (new Set(names.values()).size < names.size) {
      throw new Error(`a class would have a name twice: ${[...names.values()].join(", ")}`);
    }
    return mentions.map((mention) => ({ ...mention, name: names.get(mention.name) ?? mention.name }));
  });
  edits.sort((a, b) => a.start - b.start);
  let text = "";
  let at = 0;
  for (const { start, end, name } of edits) {
    text += `${minified.slice(at, start)}#${name}`;
    at = end;
  }
  return text + minified.slice(at);
}

/**
 * @param {Member} member
 * @param {Member | undefined} original
 */
function newName(member, original) {
  return original?.isCode ? original.name : member.name;
}

/** @param {readonly PrivateNames[]} classes */
function shapeOf(classes) {
  return JSON.stringify(classes.map(({ members }) => members.map(({ isCode }) => isCode)));
}

/**
 * @param {string} code
 * @returns {PrivateNames[]} one for each class, in the order of the code
 */
function privateNames(code) {
  /** @type {PrivateNames[]} */
  const classes = [];
  /** @type {(node: any, outer: readonly PrivateNames[]) => void} */
  const visit = (node, outer) => {
    const own = node.type === "ClassBody" ? [{ members: membersOf(node), mentions: [] }] : [];
    classes.push(...own);
    const around = [...own, ...outer];
    if (node.type === "PrivateIdentifier") {
      const owner = around.find(({ members }) => members.some(({ name }) => name === node.name));
      owner?.mentions.push({ start: node.start, end: node.end, name: node.name });
    }
    for (const child of Object.values(node).flat()) {
      if (typeof child?.type === "string") visit(child, around);
    }
  };
  visit(parseSync("code.js", code).program, []);
  return classes;
}

/**
 * @param {any} body of a class
 * @returns {Member[]} each once: a getter and a setter share their name
 */
function membersOf(body) {
  /** @type {Map<string, Member>} */
  const members = new Map();
  for (const { key, type, value } of body.body) {
    if (key?.type !== "PrivateIdentifier") continue;
    const isCode = type === "MethodDefinition" || /Function/.test(value?.type ?? "");
    members.set(key.name, { name: key.name, isCode });
  }
  return [...members.values()];
}
