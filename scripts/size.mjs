// @ts-check
/**
 * Fails when what a subpath costs its users at once (bundled, minified and gzipped, peers left out) is above its limit
 * in size-limits.json, or when a subpath has no limit. What it loads when it is first needed is told beside it. So for a program that takes one
 * plain lock on ioredis, from which a bundler can leave out what it does not use.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build, minifySync } from "vite";

const root = fileURLToPath(new URL("..", import.meta.url));
/** @param {string} file */
const readJson = (file) => JSON.parse(readFileSync(join(root, file), "utf8"));

const { exports, peerDependencies } = readJson("package.json");
const limits = readJson("scripts/size-limits.json");

const PLAIN_LOCK = "plain lock";
const programOfPlainLock = `
  import { Holdfast } from "holdfast";
  import { ioredisDriver } from "holdfast/ioredis";
  export const holdfast = new Holdfast(ioredisDriver(globalThis.redis));
  await holdfast.getLock("order:42").using(() => {});
`;

/**
 * @param {string} entry a file, or the plain lock
 * @returns {Promise<{ atOnce: number, later: number }>} bytes
 */
async function gzippedSize(entry) {
  const result = await build({
    root,
    configFile: false,
    logLevel: "error",
    plugins: [
      {
        name: "plain-lock",
        enforce: "pre",
        resolveId: (specifier) => (specifier === join(root, PLAIN_LOCK) ? specifier : null),
        load: (id) => (id === join(root, PLAIN_LOCK) ? programOfPlainLock : null),
      },
    ],
    build: {
      write: false,
      target: "es2022",
      // Vite spares the whitespace of ESM libraries, so minify afterwards.
      minify: false,
      lib: { entry: join(root, entry), fileName: "bundle", formats: ["es"] },
      rolldownOptions: { external: [/^node:/, ...Object.keys(peerDependencies)] },
    },
  });
  const outputs = [result].flat().flatMap((bundle) => ("output" in bundle ? bundle.output : []));
  const chunks = new Map(outputs.flatMap((each) => (each.type === "chunk" ? [[each.fileName, each]] : [])));
  const atOnce = new Set([...chunks.values()].filter(({ isEntry }) => isEntry));
  for (const { imports } of atOnce) {
    for (const chunk of imports.flatMap((file) => chunks.get(file) ?? [])) atOnce.add(chunk);
  }
  const later = new Set([...chunks.values()].filter((chunk) => !atOnce.has(chunk)));
  return { atOnce: gzipped(atOnce), later: gzipped(later) };
}

/** @param {ReadonlySet<{ code: string }>} chunks */
function gzipped(chunks) {
  const code = [...chunks].map((chunk) => minifySync("bundle.js", chunk.code).code).join("\n");
  return code === "" ? 0 : gzipSync(code).length;
}

for (const subpath of [...Object.keys(exports), PLAIN_LOCK]) {
  if (subpath === "./package.json") continue;
  const { atOnce: size, later } = await gzippedSize(exports[subpath]?.default ?? subpath);
  const limit = limits[subpath];
  const fits = size <= limit;
  const rest = later === 0 ? "" : `, and ${later} later`;
  console.log(
    `${subpath.padEnd(14)} ${size} bytes gzipped, limit ${limit}${fits ? "" : "  TOO LARGE"}${rest}`,
  );
  if (!fits) process.exitCode = 1;
}
