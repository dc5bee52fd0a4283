// @ts-check
import { parseSync } from "rolldown/utils";

const GETTER =
  /Object\.defineProperty\(exports,["`](\w+)["`],\{enumerable:!0,get:function\(\)\{return (\w+)\}\}\)/g;

/**
 * The bundler exports from one CommonJS chunk to another by getters, for bindings that change and for chunks that require each other. No two
 * chunks here require each other, and only a binding declared by `let` changes: all others become plain properties, which are shorter.
 *
 * @param {string} code of a minified chunk
 * @returns {string}
 */
export function plainExports(code) {
  const changing = new Set(parseSync("chunk.cjs", code).program.body.flatMap(namesOfLet));
  return code.replace(GETTER, (getter, name, local) =>
    changing.has(local) ? getter : `exports.${name}=${local}`,
  );
}

/** @param {any} statement */
function namesOfLet({ type, kind, declarations }) {
  if (type !== "VariableDeclaration" || kind !== "let") return [];
  return declarations.map((/** @type {any} */ { id }) => id.name);
}
