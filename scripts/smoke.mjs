// @ts-check
/**
 * Packs the package, installs the tarball into projects as users have them, and takes a lock in each: from
 * ESM, from plain CommonJS and from Jest. Where Node runs it, `import` and `require` must give one instance. The command line is packed
 * and installed beside it, and run by npx.
 *
 *   node scripts/smoke.mjs --tarballs FOLDER   those that scripts/pack.mjs has left there, the package for Nest among them
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { pack } from "./pack.mjs";
import { mustRun, runCommand } from "./run-command.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const jest = join(root, "node_modules", "jest", "bin", "jest.js");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const subpaths = Object.keys(manifest.exports)
  .filter((subpath) => subpath !== "./package.json")
  .map((subpath) => subpath.replace(/^\./, "holdfast"));

const takeALock = `
  const holdfast = new Holdfast(memoryDriver());
  const state = await holdfast.getLock("order:42").using(async (lease) => lease.state);
  assert.equal(state, "held");
  await holdfast.close();
`;
/** What is loaded when it is first needed, each once. */
const loadTheRest = `
  const told = new Holdfast(memoryDriver(), { presence: { app: "smoke" } });
  await told.getLock("order:43").lock();
  assert.equal(await told.getLock("order:43").isLocked(), true);
  assert.equal((await told.inspect("order:43")).holders.length, 1);
  for await (const { name } of told.locks()) assert.equal(name, "order:43");
  assert.equal((await told.fleet()).truncated, false);
  assert.equal(await told.forceUnlock(await told.inspect("order:43")), "released");
  const partner = told.getPermitExpirableSemaphore("partner");
  await partner.trySetPermits(2);
  assert.equal(await told.setPermits(await told.inspect("partner"), 3), "set");
  await told.close();
`;
/** The package is minified: a stack trace has to say all the same which functions were called, private ones too. */
const lookAtStackTrace = `
  Error.stackTraceLimit = 50;
  const driver = memoryDriver();
  let stack = "";
  const run = (call, ticket) => {
    stack += new Error("sent").stack;
    return driver.run(call, ticket);
  };
  const { traits, resets } = driver;
  const others = { subscribe: driver.subscribe.bind(driver), close: driver.close.bind(driver) };
  const traced = new Holdfast({ traits, resets, run, ...others });
  await traced.using("order:44", () => {});
  await traced.close();
  const lines = stack.split("\\n").filter((line) => /holdfast.dist/.test(line));
  const functions = lines.flatMap((line) => /at (?:async |new )?(.+) \\(/.exec(line)?.[1] ?? []);
  // A function without a name in a field without code is called by that: "#a.#a".
  const named = functions.filter((name) => !/^#\\w+\\.#\\w+$/.test(name));
  assert.ok(named.some((name) => name.includes("#")), stack);
  for (const name of named) assert.match(name, /^(\\w+\\.)?#?\\w{3,}$/, stack);
`;
const compareInstances = `
  const instances = new Map();
  for (const subpath of ${JSON.stringify(subpaths)}) {
    const imported = await import(subpath);
    const required = require(subpath);
    // Node marks what it requires of a module that has a default export.
    const names = Object.keys(required).filter((name) => name !== "__esModule");
    assert.deepEqual(names.filter((name) => !(name in imported)), [], subpath);
    for (const [name, value] of Object.entries(imported)) {
      assert.equal(required[name], value, subpath + " has two instances of " + name);
      assert.equal(instances.get(name) ?? value, value, subpath + " has an instance of its own of " + name);
      instances.set(name, value);
    }
  }
`;

/** What a newcomer pastes first. */
const [, firstProgram = ""] =
  /^```js\n(.*?)^```$/ms.exec(readFileSync(join(root, "README.md"), "utf8")) ?? [];

/** @type {Record<string, { files: Record<string, string>, args: string[] }>} */
const projects = {
  "ESM project": {
    files: {
      "package.json": '{ "private": true, "type": "module" }',
      "main.js": `
        import assert from "node:assert/strict";
        import { createRequire } from "node:module";
        import { Holdfast } from "holdfast";
        import { memoryDriver } from "holdfast/memory";
        const require = createRequire(import.meta.url);
        ${takeALock}
        ${loadTheRest}
        ${lookAtStackTrace}
        ${compareInstances}
      `,
    },
    args: ["main.js"],
  },
  "README program": {
    files: { "pay.mjs": `${firstProgram}\nif (balance !== 40) process.exitCode = 1;\n` },
    args: ["pay.mjs"],
  },
  "CommonJS project": {
    files: {
      "package.json": '{ "private": true, "type": "commonjs" }',
      "main.js": `
        const assert = require("node:assert/strict");
        const { Holdfast } = require("holdfast");
        const { memoryDriver } = require("holdfast/memory");
        (async () => {
          ${takeALock}
          ${loadTheRest}
          ${lookAtStackTrace}
          ${compareInstances}
        })();
      `,
    },
    args: ["main.js"],
  },
  "Jest project": {
    files: {
      "package.json": '{ "private": true, "jest": { "testEnvironment": "node", "transform": {} } }',
      "main.test.js": `
        const assert = require("node:assert/strict");
        const { Holdfast } = require("holdfast");
        const { memoryDriver } = require("holdfast/memory");
        test("takes a lock", async () => {
          ${takeALock}
          ${loadTheRest}
          ${lookAtStackTrace}
          assert.match(require.resolve("holdfast"), /[\\\\/]dist[\\\\/]cjs[\\\\/]/);
        });
        test("takes a lock under fake timers, and loses it when they are advanced", async () => {
          jest.useFakeTimers();
          ${takeALock}
          const driver = memoryDriver();
          const client = new Holdfast(driver);
          const lease = await client.getLock("order:42").lock({ leaseMs: 10_000 });
          const waiting = client.getLock("order:42").lock();
          await jest.advanceTimersByTimeAsync(10_002);
          assert.equal(lease.state, "lost");
          assert.equal((await waiting).state, "held");
          await client.close({ releaseHeld: true });
        });
      `,
    },
    args: [jest, "--ci"],
  },
};

const nestPackages = [
  "@nestjs/common",
  "@nestjs/core",
  "@nestjs/platform-express",
  "reflect-metadata",
  "rxjs",
];
/** More is tried by `npm run test:nest`. */
const nestProjects = {
  "Nest project": {
    files: {
      "main.mjs": `
        import "reflect-metadata";
        import assert from "node:assert/strict";
        import { createRequire } from "node:module";
        import { NestFactory } from "@nestjs/core";
        import { Holdfast } from "holdfast";
        import { memoryDriver } from "holdfast/memory";
        import { HoldfastModule } from "holdfast-nestjs";
        const root = HoldfastModule.forRoot({ driver: memoryDriver() });
        const application = await NestFactory.createApplicationContext(root, { logger: false, abortOnError: false });
        const holdfast = application.get(Holdfast);
        assert.equal(await holdfast.using("order:42", async (lease) => lease.state), "held");
        assert.equal(createRequire(import.meta.url)("holdfast-nestjs").HoldfastModule, HoldfastModule);
        await application.close();
      `,
    },
    args: ["main.mjs"],
  },
};
const { values } = parseArgs({ options: { tarballs: { type: "string" } } });

/** @returns {Promise<boolean>} */
async function smoke() {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-smoke-"));
  try {
    const tarballs =
      values.tarballs === undefined
        ? await pack(folder, [".", "packages/cli"])
        : tarballsIn(resolve(values.tarballs));
    writeFileSync(join(folder, "package.json"), '{ "private": true }');
    const withNest = tarballs.some((file) => basename(file).startsWith("holdfast-nestjs-"));
    const peers = ["fengari", "@opentelemetry/api"];
    const packages = withNest ? [...peers, ...nestPackages] : peers;
    const others = packages.map((name) => `${name}@${manifest.devDependencies[name]}`);
    await mustRun("npm", ["install", "--prefer-offline", ...tarballs, ...others], { cwd: folder });
    const results = [];
    for (const [name, project] of Object.entries({ ...projects, ...(withNest ? nestProjects : {}) }))
      results.push(await runProject(folder, name, project));
    results.push(await runCommandLine(folder));
    return results.every(Boolean);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {string} folder */
function tarballsIn(folder) {
  return readdirSync(folder).flatMap((file) => (file.endsWith(".tgz") ? [join(folder, file)] : []));
}

/**
 * @param {string} folder
 * @param {string} name
 * @param {{ files: Record<string, string>, args: string[] }} project
 */
async function runProject(folder, name, { files, args }) {
  const cwd = join(folder, name.replace(" ", "-"));
  mkdirSync(cwd);
  for (const [file, text] of Object.entries(files)) writeFileSync(join(cwd, file), text);
  const { ok, output } = await runCommand(process.execPath, ["--unhandled-rejections=strict", ...args], {
    cwd,
    quiet: true,
  });
  // A library that makes Node print warnings is not fine.
  const fine = ok && !/Warning:/.test(output);
  console.log(fine ? `${name}: fine` : `${name}: FAILED\n${output}`);
  return fine;
}

/**
 * It has its version, and says where it can not reach Redis: all that can be seen without a server.
 *
 * @param {string} folder
 */
async function runCommandLine(folder) {
  const npx = ["--no-install", "holdfast-cli"];
  const told = await runCommand("npx", [...npx, "--version"], { cwd: folder, quiet: true });
  const url = "redis://127.0.0.1:1";
  const refused = await runCommand("npx", [...npx, "clients", "--url", url], { cwd: folder, quiet: true });
  const fine =
    told.ok &&
    told.output.trim() === manifest.version &&
    !refused.ok &&
    refused.output.includes("127.0.0.1:1 can not be");
  console.log(fine ? "command line: fine" : `command line: FAILED\n${told.output}${refused.output}`);
  return fine;
}

process.exitCode = (await smoke()) ? 0 : 1;
