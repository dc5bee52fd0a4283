// @ts-check
/** The bundlers of `npm run test:runtimes`, from the packages of runtimes/. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "./tiers.mjs";

const tools = join(root, "runtimes/node_modules");

/** Each makes of main.mjs, with all that it imports, files in `out/`. */
export const bundlers = {
  async esbuild(/** @type {string} */ cwd, /** @type {any} */ esbuild) {
    const settings = { absWorkingDir: cwd, bundle: true, platform: "node", logLevel: "error" };
    await esbuild.build({ ...settings, entryPoints: ["main.cjs"], format: "cjs", outfile: "out/main.cjs" });
    // CommonJS inside of an ES module asks for require.
    const banner = {
      js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
    };
    await esbuild.build({
      ...settings,
      entryPoints: ["main.mjs"],
      format: "esm",
      outfile: "out/main.mjs",
      banner,
    });
    // Its service would keep this process alive.
    await esbuild.stop();
  },
  async webpack(/** @type {string} */ cwd, /** @type {any} */ { default: webpack }) {
    const output = { path: join(cwd, "out"), filename: "main.cjs" };
    const settings = { context: cwd, entry: "./main.mjs", target: "node", mode: "production", output };
    await new Promise((resolve, reject) => {
      webpack(settings, (/** @type {Error | null} */ error, /** @type {any} */ stats) => {
        if (error || stats.hasErrors()) reject(error ?? new Error(stats.toString("errors-only")));
        else resolve(undefined);
      });
    });
  },
  async rollup(/** @type {string} */ cwd, /** @type {any} */ { rollup }) {
    const plugins = await Promise.all(
      ["node-resolve", "commonjs", "json"].map(
        async (name) => (await tool(`@rollup/plugin-${name}`)).default,
      ),
    );
    const [resolve, commonjs, json] = plugins;
    const bundle = await rollup({
      input: join(cwd, "main.mjs"),
      plugins: [resolve({ preferBuiltins: true, exportConditions: ["node"] }), commonjs(), json()],
      onwarn: () => undefined,
    });
    await bundle.write({
      dir: join(cwd, "out"),
      format: "es",
      entryFileNames: "[name].mjs",
      chunkFileNames: "[name]-[hash].mjs",
    });
  },
  async vite(/** @type {string} */ cwd, /** @type {any} */ { build }) {
    await build({
      root: cwd,
      logLevel: "error",
      configFile: false,
      ssr: { noExternal: true },
      build: { ssr: "main.mjs", outDir: "out", rollupOptions: { output: { entryFileNames: "[name].mjs" } } },
    });
  },
};

/** @param {string} name */
export async function tool(name) {
  const { exports, module, main } = JSON.parse(readFileSync(join(tools, name, "package.json"), "utf8"));
  const listed = exports?.["."] ?? exports;
  const entry = listed?.import?.default ?? listed?.import ?? listed?.default ?? listed ?? module ?? main;
  return import(pathToFileURL(join(tools, name, typeof entry === "string" ? entry : main)).href);
}
