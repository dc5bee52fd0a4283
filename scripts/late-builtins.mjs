// @ts-check
/** Modules of Node of which a program needs little and late, but that take a third of the time of the first import. */
const LATE = ["node:crypto", "node:util"];
/** All others, which stay imports. */
export const AT_ONCE = /^node:(?!(?:crypto|util)$)/;
const PREFIX = "\0late:";

/**
 * A plugin of the bundler: what the sources import of those modules is loaded with its first use. A function or an object stands for each of
 * their exports, so that the sources need not know of it.
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
  const { functions = [], objects = [] } = EXPORTS[name] ?? {};
  return [
    `const load = (name) => process.getBuiltinModule("${name}")[name];`,
    // A call costs next to nothing more than one of the function itself.
    ...functions.map((each) => `let ${each}Itself;`),
    ...functions.map(
      (each) => `export const ${each} = (...args) => (${each}Itself ??= load("${each}"))(...args);`,
    ),
    ...objects.map(
      (each) =>
        `export const ${each} = /* @__PURE__ */ new Proxy({}, { get: (_, key) => load("${each}")[key] });`,
    ),
  ].join("\n");
}

/**
 * What the sources import of them. A name that is missing here fails the build.
 *
 * @type {Record<string, { functions?: readonly string[], objects?: readonly string[] }>}
 */
const EXPORTS = {
  "node:crypto": { functions: ["createHash", "randomBytes", "randomUUID"] },
  "node:util": { functions: ["inspect"], objects: ["types"] },
};
