// @ts-check
/** Modules of Node of which a program needs little and late, but that take a third of the time of the first import. */
const LATE = ["node:crypto", "node:util"];
/** All others, which stay imports. */
export const AT_ONCE = /^node:(?!(?:crypto|util)$)/;
const PREFIX = "\0late:";

/**
 * A plugin of the bundler: what the sources import of those modules is loaded when it is first used. All that they export stands in for itself,
 * functions and objects of functions alike, so that the sources need not know of it.
 *
 * @returns {import("rolldown").Plugin}
 */
export function lateBuiltins() {
  return {
    name: "late-builtins",
    resolveId: (specifier) => (LATE.includes(specifier) ? `${PREFIX}${specifier}` : null),
    load: (id) => (id.startsWith(PREFIX) ? standIns(id.slice(PREFIX.length)) : null),
  };
}

/** @param {string} name of a module of Node */
function standIns(name) {
  const names = EXPORTS[name] ?? [];
  return [
    `const load = (name) => process.getBuiltinModule("${name}")[name];`,
    "const standIn = (name) => new Proxy(function () {}, {",
    "  apply: (_, self, args) => Reflect.apply(load(name), self, args),",
    "  get: (_, key) => load(name)[key],",
    "});",
    ...names.map((each) => `export const ${each} = /* @__PURE__ */ standIn("${each}");`),
  ].join("\n");
}

/**
 * What the sources import of them. A name that is missing here fails the build.
 *
 * @type {Record<string, readonly string[]>}
 */
const EXPORTS = {
  "node:crypto": ["createHash", "randomBytes", "randomUUID"],
  "node:util": ["inspect", "types"],
};
