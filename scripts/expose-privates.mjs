// @ts-check
/**
 * Makes all state of the compiled sources reachable from outside, so that the simulator can count what is left of it: private names
 * become plain ones, and modules export the tables that they keep. What the code does stays the same. For the simulator's own
 * copy only.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseAst } from "vite";

/** The export by which a module shows its tables, as functions that tell what each is at that moment. */
const TABLES = "_tables";

/** @typedef {{ type: string, start: number, end: number, [key: string]: unknown }} Node */

/**
 * `#name` of a class `Class` becomes `_Class_name`, as a subclass may have the same private name as its base. Tables of the module
 * itself are exported as well.
 *
 * @param {string} code one compiled module
 * @param {string} file its name, for what cannot be exposed
 * @returns {string} with the same lines
 */
export function exposePrivates(code, file) {
  const program = /** @type {Node} */ (/** @type {unknown} */ (parseAst(code)));
  const names = new PrivateNames(file);
  names.visit(program, []);
  let exposed = "";
  let at = 0;
  for (const { start, end, text } of names.changes.sort((one, other) => one.start - other.start)) {
    exposed += code.slice(at, start) + text;
    at = end;
  }
  exposed += code.slice(at);
  for (const name of names.exposed) {
    if (code.includes(name)) throw new Error(`${file} has the name ${name} already`);
  }
  return exposed + tablesOf(program);
}

/**
 * Exposes all of a folder of compiled sources, and writes beside them `tables.js`, which has the tables of all modules. What only
 * adapts Redis clients, and the embedded server, is left out of those.
 *
 * @param {string} folder
 */
export function exposeFolder(folder) {
  const imports = [];
  for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" }).sort()) {
    if (!path.endsWith(".js")) continue;
    const file = join(folder, path);
    const exposed = exposePrivates(readFileSync(file, "utf8"), path);
    writeFileSync(file, exposed);
    if (exposed.includes(`export const ${TABLES} =`) && !/^(?:driver|memory)[\\/]/.test(path))
      imports.push(path);
  }
  const lines = imports.map(
    (path, at) => `import { ${TABLES} as of${at} } from "./${path.replaceAll("\\", "/")}";`,
  );
  const all = imports.map((path, at) => `  ${JSON.stringify(path.replaceAll("\\", "/"))}: of${at},`);
  writeFileSync(
    join(folder, "tables.js"),
    [...lines, "export const tables = {", ...all, "};", ""].join("\n"),
  );
}

class PrivateNames {
  /** @type {{ start: number, end: number, text: string }[]} */
  changes = [];
  /** @type {Set<string>} */
  exposed = new Set();

  /** @param {string} file */
  constructor(file) {
    this.file = file;
  }

  /**
   * @param {unknown} value a node, or what is in one
   * @param {readonly { name: string, has: Set<string> }[]} classes around it, the innermost first
   * @param {string | undefined} [name] of the variable that it is assigned to
   */
  visit(value, classes, name) {
    if (Array.isArray(value)) for (const each of value) this.visit(each, classes);
    if (!isNode(value)) return;
    if (value.type === "PrivateIdentifier") {
      this.#rename(value, classes, (name) => name);
      return;
    }
    if (
      value.type === "BinaryExpression" &&
      isNode(value["left"]) &&
      value["left"].type === "PrivateIdentifier"
    ) {
      this.#rename(value["left"], classes, JSON.stringify);
      this.visit(value["right"], classes);
      return;
    }
    const isClass = value.type === "ClassDeclaration" || value.type === "ClassExpression";
    const inside = isClass ? [declared(value, name), ...classes] : classes;
    const assigned = value.type === "VariableDeclarator" ? nameOf(value["id"]) : undefined;
    for (const each of Object.values(value)) this.visit(each, inside, assigned);
  }

  /**
   * @param {Node} identifier
   * @param {readonly { name: string, has: Set<string> }[]} classes
   * @param {(name: string) => string} written
   */
  #rename({ start, end, name }, classes, written) {
    const owner = classes.find(({ has }) => has.has(String(name)));
    if (owner === undefined) throw new Error(`${this.file}: no class around has #${name}`);
    const exposed = `_${owner.name}_${name}`;
    this.exposed.add(exposed);
    this.changes.push({ start, end, text: written(exposed) });
  }
}

/**
 * @param {Node} node a class
 * @param {string | undefined} assigned
 */
function declared(node, assigned) {
  const body = /** @type {{ body: Node[] }} */ (node["body"]).body;
  const has = new Set(
    body.flatMap(({ key }) => (isNode(key) && key.type === "PrivateIdentifier" ? [String(key["name"])] : [])),
  );
  const name = nameOf(node["id"]) ?? assigned;
  if (name === undefined && has.size > 0) throw new Error(`a class without a name has #${[...has][0]}`);
  return { name: name ?? "", has };
}

/**
 * The export of what a module keeps: whatever is made by `new` or is a list.
 *
 * @param {Node} program
 */
function tablesOf(program) {
  const names = /** @type {Node[]} */ (program["body"]).flatMap((statement) => {
    const inner = statement.type === "ExportNamedDeclaration" ? statement["declaration"] : statement;
    if (!isNode(inner) || inner.type !== "VariableDeclaration") return [];
    return /** @type {Node[]} */ (inner["declarations"]).flatMap(({ id, init }) => {
      const name = nameOf(id);
      return name !== undefined && isNode(init) && ["NewExpression", "ArrayExpression"].includes(init.type)
        ? [name]
        : [];
    });
  });
  if (names.length === 0) return "";
  return `\nexport const ${TABLES} = { ${names.map((name) => `${name}: () => ${name}`).join(", ")} };\n`;
}

/**
 * @param {unknown} value
 * @returns {value is Node}
 */
function isNode(value) {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

/** @param {unknown} id */
function nameOf(id) {
  return isNode(id) && id.type === "Identifier" ? String(id["name"]) : undefined;
}
