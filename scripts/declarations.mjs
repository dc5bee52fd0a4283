// @ts-check
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseSync } from "vite";

/**
 * A top-level declaration, known by the file and the name it has there.
 *
 * @typedef {{ file: string, name: string }} Place
 * @typedef {{ text: string, mentions: Set<string>, statements: any[] }} Declaration statements: their syntax, one for each overload
 * @typedef {object} Module
 * @property {string} code
 * @property {readonly { value: string, start: number, end: number }[]} comments
 * @property {Map<string, Declaration>} declarations by local name
 * @property {Map<string, Place>} imports by local name
 * @property {Map<string, Place>} exports by exported name
 * @property {string[]} stars files of which everything is exported again
 * @property {Set<string>} types exported names that stand for a type alone, whatever is declared
 */

/**
 * @param {readonly string[]} entries .d.ts files
 * @returns {{ exported: string[][], declarations: string[] }} names by entry, and sorted texts
 */
export function publicApi(entries) {
  const exported = entries.map((entry) => exportsOf(entry));
  return {
    exported: exported.map((places) => [...places.keys()].sort()),
    declarations: reachable(exported.flatMap((places) => [...places.values()])).map(
      ({ text }) => `${text}\n`,
    ),
  };
}

/**
 * The declarations that are reachable from an entry, with their docstrings and those of their members.
 *
 * @param {string} entry a .d.ts file
 * @returns {{ name: string, statements: any[], docOf: (node: { start: number }) => string | undefined }[]}
 */
export function documentedApi(entry) {
  return reachable([...exportsOf(entry).values()]).map(({ file, name, statements }) => {
    const { code, comments } = moduleAt(file);
    const docOf = (/** @type {{ start: number }} */ { start }) =>
      comments.find(({ end }) => end <= start && code.slice(end, start).trim() === "")?.value;
    return { name, statements, docOf };
  });
}

/**
 * The declarations at some places and all that they mention, sorted by name and file.
 *
 * @param {Place[]} queue
 */
function reachable(queue) {
  /** @type {Map<string, Place & Declaration>} */
  const found = new Map();
  for (let place = queue.pop(); place !== undefined; place = queue.pop()) {
    const declaration = declarationAt(place);
    if (declaration === undefined) continue;
    const { file, name, mentions } = declaration;
    const key = `${name} ${file}`;
    if (found.has(key)) continue;
    found.set(key, declaration);
    for (const mention of mentions) queue.push({ file, name: mention });
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, declaration]) => declaration);
}

/**
 * What each exported name of a file is to a program: a type alone, a class (a type and a value), or a value alone.
 *
 * @param {string} entry a .d.ts file
 * @returns {Map<string, "type" | "class" | "value">}
 */
export function exportedForms(entry) {
  const { types } = moduleAt(entry);
  const forms = [...exportsOf(entry)].map(([name, place]) => {
    const text = declarationAt(place)?.text ?? "";
    if (types.has(name) || /^(?:interface|type)\b/.test(text)) return /** @type {const} */ ([name, "type"]);
    return /** @type {const} */ ([name, /^(?:abstract )?class\b/.test(text) ? "class" : "value"]);
  });
  return new Map(forms);
}

/**
 * @param {string} file
 * @returns {Map<string, Place>}
 */
function exportsOf(file) {
  const { exports, stars } = moduleAt(file);
  return new Map([...stars.flatMap((star) => [...exportsOf(star)]), ...exports]);
}

/**
 * Follows imports and exports to where a name is declared; undefined for names of other packages.
 *
 * @param {Place} place
 * @returns {(Place & Declaration) | undefined}
 */
function declarationAt({ file, name }) {
  const module = moduleAt(file);
  const declaration = module.declarations.get(name);
  if (declaration !== undefined) return { file, name, ...declaration };
  const next = module.imports.get(name);
  if (next === undefined || !next.file.endsWith(".d.ts")) return undefined;
  const origin = exportsOf(next.file).get(next.name);
  return origin && declarationAt(origin);
}

/** @type {Map<string, Module>} */
const modules = new Map();

/** @param {string} file */
function moduleAt(file) {
  const known = modules.get(file) ?? readModule(file);
  modules.set(file, known);
  return known;
}

/**
 * @param {string} file
 * @returns {Module}
 */
function readModule(file) {
  const code = readFileSync(file, "utf8");
  const { program, comments } = parseSync(file, code);
  /** @type {Module} */
  const module = {
    code,
    comments,
    declarations: new Map(),
    imports: new Map(),
    exports: new Map(),
    stars: [],
    types: new Set(),
  };
  for (const statement of program.body) {
    const source =
      "source" in statement && statement.source ? fileOf(file, statement.source.value) : undefined;
    if (statement.type === "ExportAllDeclaration") {
      if (source?.endsWith(".d.ts")) module.stars.push(source);
    } else if (statement.type === "ImportDeclaration") {
      for (const item of statement.specifiers) {
        const name = "imported" in item ? nameOf(item.imported) : item.local.name;
        module.imports.set(item.local.name, { file: source ?? "", name });
      }
    } else if (statement.type === "ExportNamedDeclaration" && statement.declaration === null) {
      for (const { local, exported, exportKind } of statement.specifiers) {
        const name = nameOf(local);
        if (statement.exportKind === "type" || exportKind === "type") module.types.add(nameOf(exported));
        // A re-export is an import under a name that nothing else can have.
        const key = source === undefined ? name : `export ${name} of ${source}`;
        if (source !== undefined) module.imports.set(key, { file: source, name });
        module.exports.set(nameOf(exported), { file, name: key });
      }
    } else {
      readDeclaration(module, file, statement, withoutComments(code, statement, comments));
    }
  }
  return module;
}

/**
 * @param {Module} module
 * @param {string} file
 * @param {any} statement
 * @param {string} text
 */
function readDeclaration(module, file, statement, text) {
  const declared = statement.declaration ?? statement;
  const names = declared.declarations?.map((/** @type {any} */ variable) => variable.id.name) ?? [
    declared.id?.name,
  ];
  for (const name of names) {
    const overloads = module.declarations.get(name);
    const mentions = new Set(text.match(/[A-Za-z_$][\w$]*/g));
    module.declarations.set(name, {
      text: overloads ? `${overloads.text}\n${text}` : text,
      mentions,
      statements: [...(overloads?.statements ?? []), statement],
    });
    if (statement.type === "ExportNamedDeclaration") module.exports.set(name, { file, name });
  }
}

/**
 * @param {string} code
 * @param {{ start: number, end: number }} statement
 * @param {readonly { start: number, end: number }[]} comments
 */
function withoutComments(code, { start, end }, comments) {
  let text = "";
  let at = start;
  for (const comment of comments) {
    if (comment.start < start || comment.end > end) continue;
    text += code.slice(at, comment.start);
    at = comment.end;
  }
  text += code.slice(at, end);
  return text.replace(/^\s*\n/gm, "").replace(/\bexport |\bdeclare /g, "");
}

/**
 * @param {string} importer
 * @param {string} specifier
 */
function fileOf(importer, specifier) {
  return specifier.startsWith(".") ? join(dirname(importer), specifier.replace(/\.js$/, ".d.ts")) : specifier;
}

/** @param {any} node an identifier, or a string used as a name */
function nameOf(node) {
  return node.name ?? node.value;
}
