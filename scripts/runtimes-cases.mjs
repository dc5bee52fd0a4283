// @ts-check
/** What `npm run test:runtimes` tries of the packed package: each case is a project that a user could have. */
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { installedNode, withNode } from "./node-releases.mjs";
import { mustRun } from "./run-command.mjs";
import { bundlers, tool } from "./runtimes-bundlers.mjs";
import { root } from "./tiers.mjs";

/**
 * @typedef {object} Bench what the cases work with
 * @property {string} folder for projects
 * @property {string} tarball of the package
 * @property {string} url of a Redis server
 *
 * @typedef {{ group: string, name: string, what: string, run(bench: Bench): Promise<string> }} RuntimeCase run: answers with what was seen
 */

const programs = join(root, "test/runtimes");
const tools = join(root, "runtimes/node_modules");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
/** Not among the packages of runtimes/: some of the binaries that it lists were never published, so that npm can not lock it. */
const PNPM = "12.21.0";
const pnpmFolder = join(root, "node_modules/.cache/holdfast-pnpm", PNPM);
const nodes = ["20.19", "22", "24", "26"];
const allHold =
  "lock, re-entry along the path, wait, a wait that ends, hand-over within a client, fair order, readers together, writers alone, permits and a latch, loss, close";

/** @param {string} name of a package in runtimes/ */
function versionOf(name) {
  const file = join(tools, name, "package.json");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).version : "?";
}

/**
 * Makes an empty project, outside of this repository.
 *
 * @param {Bench} bench
 * @param {string} name
 * @param {Record<string, string>} [dependencies] beside the package
 */
function project({ folder, tarball }, name, dependencies = { ioredis: manifest.devDependencies.ioredis }) {
  const cwd = join(folder, name.replaceAll(/[^\w.]+/g, "-"));
  mkdirSync(cwd, { recursive: true });
  const wanted = { private: true, dependencies: { holdfast: `file:${tarball}`, ...dependencies } };
  writeFileSync(join(cwd, "package.json"), JSON.stringify(wanted));
  for (const file of readdirSync(programs)) copyFileSync(join(programs, file), join(cwd, file));
  return cwd;
}

/**
 * Runs a program that tells which behaviours hold.
 *
 * @param {Bench} bench
 * @param {string} cwd
 * @param {string} command
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 */
async function behaves({ url }, cwd, command, args, env = process.env) {
  const output = await mustRun(command, args, { cwd, env: { ...env, REDIS_URL: url } });
  if (output.trim() !== allHold) throw new Error(`not all behaviours hold: ${output}`);
  return "✓";
}

const npmInstall = ["install", "--prefer-offline", "--no-audit", "--no-fund"];

/**
 * @param {Bench} bench
 * @param {string} name
 * @param {Record<string, string>} [dependencies]
 */
async function npmProject(bench, name, dependencies) {
  const cwd = project(bench, name, dependencies);
  await mustRun("npm", npmInstall, { cwd });
  return cwd;
}

/** @type {Readonly<Record<string, { command: string[], files?: Record<string, string>, node?: string[] }>>} */
const managers = {
  [`pnpm ${PNPM}`]: {
    command: [
      join(pnpmFolder, "node_modules/.bin/pnpm"),
      "install",
      "--ignore-workspace",
      "--store-dir=store",
    ],
  },
  [`yarn ${versionOf("yarn")}`]: {
    command: [
      process.execPath,
      join(tools, "yarn/bin/yarn.js"),
      "install",
      "--no-lockfile",
      "--cache-folder=cache",
    ],
  },
  [`yarn ${versionOf("@yarnpkg/cli-dist")}, node_modules`]: berry("node-modules"),
  [`yarn ${versionOf("@yarnpkg/cli-dist")}, Plug'n'Play`]: berry("pnp"),
};

/** @param {string} program */
async function providePnpm(program) {
  if (existsSync(program)) return;
  mkdirSync(pnpmFolder, { recursive: true });
  await mustRun("npm", [
    "install",
    "--prefix",
    pnpmFolder,
    "--no-save",
    "--no-audit",
    "--no-fund",
    `pnpm@${PNPM}`,
  ]);
}

/** @param {string} linker */
function berry(linker) {
  const yarn = [process.execPath, join(tools, "@yarnpkg/cli-dist/bin/yarn.js")];
  const settings = `nodeLinker: ${linker}\nenableGlobalCache: false\nenableTelemetry: false\nenableImmutableInstalls: false\n`;
  return {
    command: [...yarn, "install"],
    // A project of its own, whatever lies above.
    files: { ".yarnrc.yml": settings, "yarn.lock": "" },
    node: [...yarn, "node"],
  };
}

/** @returns {RuntimeCase[]} */
function managerCases() {
  const others = Object.entries(managers).map(
    ([
      name,
      {
        command: [command = "", ...args],
        files = {},
        node,
      },
    ]) => ({
      name,
      async install(/** @type {Bench} */ bench) {
        const cwd = project(bench, name);
        for (const [file, text] of Object.entries(files)) writeFileSync(join(cwd, file), text);
        if (command.startsWith(pnpmFolder)) await providePnpm(command);
        await mustRun(command, args, { cwd });
        return cwd;
      },
      node: node ?? [process.execPath],
    }),
  );
  const npm = {
    name: "npm",
    install: (/** @type {Bench} */ bench) => npmProject(bench, "npm"),
    node: [process.execPath],
  };
  return [npm, ...others].map(({ name, install, node: [node = "", ...before] }) => ({
    group: "Package managers",
    name,
    what: "installed; ES module and CommonJS",
    async run(bench) {
      const cwd = await install(bench);
      await behaves(bench, cwd, node, [...before, "main.mjs"]);
      return behaves(bench, cwd, node, [...before, "main.cjs"]);
    },
  }));
}

/** @type {RuntimeCase} */
const nextClient = {
  group: "Package managers",
  name: "npm",
  what: "installs beside a fake ioredis 7, which has only the version number; runs without ioredis",
  async run(bench) {
    const cwd = project(bench, "ioredis-7", {
      ioredis: "file:next-ioredis",
      fengari: manifest.devDependencies.fengari,
    });
    mkdirSync(join(cwd, "next-ioredis"));
    writeFileSync(join(cwd, "next-ioredis/package.json"), '{ "name": "ioredis", "version": "7.0.0" }');
    await mustRun("npm", npmInstall, { cwd });
    await mustRun("npm", ["ls", "--all"], { cwd });
    const program = `
      import { Holdfast } from "holdfast";
      import { memoryDriver } from "holdfast/memory";
      const holdfast = new Holdfast(memoryDriver());
      console.log(await holdfast.using("a", async (lease) => lease.state));
      await holdfast.close();`;
    const output = await mustRun(process.execPath, ["--input-type=module", "--eval", program], { cwd });
    if (output.trim() !== "held") throw new Error(output);
    return "✓";
  },
};

/** @returns {RuntimeCase[]} */
function nodeCases() {
  return nodes.flatMap((release) =>
    Object.entries({ "ES module": "main.mjs", CommonJS: "main.cjs" }).map(([what, program]) => ({
      group: "Node.js",
      name: `Node.js ${release}`,
      what,
      async run(bench) {
        const node = await installedNode(release);
        const cwd = await npmProject(bench, `node ${release} ${program}`);
        return behaves(bench, cwd, node, ["--unhandled-rejections=strict", program], withNode(node));
      },
    })),
  );
}

/** @returns {RuntimeCase[]} */
function bundlerCases() {
  return Object.entries(bundlers).map(([name, bundle]) => ({
    group: "Bundlers",
    name: `${name} ${versionOf(name)}`,
    what: "one bundle with all packages, run in a folder without packages",
    async run(bench) {
      const cwd = await npmProject(bench, name);
      await bundle(cwd, await tool(name));
      const bare = join(bench.folder, `${name}-bare`);
      cpSync(join(cwd, "out"), bare, { recursive: true });
      for (const file of readdirSync(bare).filter((file) => /^main\.[cm]js$/.test(file))) {
        await behaves(bench, bare, process.execPath, [file]);
      }
      return "✓";
    },
  }));
}

/** @returns {RuntimeCase[]} */
function compilerCases() {
  return ["typescript54", "typescript59", "typescript60", "typescript70"].map((name) => ({
    group: "TypeScript",
    name: `TypeScript ${versionOf(name)}`,
    what: "every subpath, with `strict` and `skipLibCheck: false`, with `nodenext` and with `bundler`",
    async run(bench) {
      const others = ["ioredis", "@types/node"].map((other) => [other, manifest.devDependencies[other]]);
      const cwd = await npmProject(bench, name, Object.fromEntries(others));
      writeFileSync(join(cwd, "package.json"), '{ "private": true, "type": "module" }');
      const compiler = join(tools, name, "bin/tsc");
      const checks = [
        "--strict",
        "--noEmit",
        "--skipLibCheck",
        "false",
        "--target",
        "es2022",
        "--types",
        "node",
        "--lib",
      ];
      const systems = [
        ["--module", "nodenext", "--moduleResolution", "nodenext"],
        ["--module", "esnext", "--moduleResolution", "bundler"],
      ];
      for (const system of systems) {
        const args = [compiler, ...checks, "es2023,esnext.disposable", ...system, "types.ts"];
        await mustRun(process.execPath, args, { cwd });
      }
      return "✓";
    },
  }));
}

/** @returns {RuntimeCase[]} */
function otherRuntimes() {
  const runtimes = {
    Bun: { tool: "bun", args: [] },
    Deno: { tool: "deno", args: ["run", "--allow-all"] },
  };
  return Object.entries(runtimes).flatMap(([called, { tool: name, args }]) => {
    const command = join(tools, ".bin", name);
    const title = `${called} ${versionOf(name)}`;
    const of = (/** @type {string} */ what, /** @type {RuntimeCase["run"]} */ run) => ({
      group: "Other runtimes",
      name: title,
      what,
      run,
    });
    const behaving = Object.entries({ "ES module": "main.mjs", CommonJS: "main.cjs" }).map(
      ([what, program]) =>
        of(what, async (bench) =>
          behaves(bench, await npmProject(bench, `${name} ${program}`), command, [...args, program]),
        ),
    );
    const conforming = of("the conformance cases of the driver", async (bench) => {
      const cwd = await npmProject(bench, `${name} conformance`);
      const env = { ...process.env, REDIS_URL: bench.url };
      const { passed, notApplicable } = JSON.parse(
        await mustRun(command, [...args, "conformance.mjs"], { cwd, env }),
      );
      return `${passed} passed; not applicable: ${notApplicable.join(", ")}`;
    });
    return [...behaving, conforming];
  });
}

export const runtimeCases = () => [
  ...managerCases(),
  nextClient,
  ...nodeCases(),
  ...bundlerCases(),
  ...compilerCases(),
  ...otherRuntimes(),
];
