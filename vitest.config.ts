import { existsSync } from "node:fs";
import { basename, join, relative } from "node:path";
import type { Plugin } from "vite";
import { configDefaults, defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { isBuilt, newest } from "./scripts/redisson.mjs";
import { specifierOf, subpaths } from "./scripts/subpaths.mjs";
import { ClosingLineReporter } from "./test/support/run/closing-line-reporter.js";
import { RunRecorder } from "./test/support/run/run-recorder.js";
import { SlowestFirst } from "./test/support/run/slowest-first.js";
import { TallyReporter } from "./test/support/run/tally-reporter.js";
import { groups, type TestGroup } from "./test/tiers.js";

const root = import.meta.dirname;
/** Test what the compiler makes of the sources, module by module, as Node runs it, instead of the sources. */
const testsBuilt = process.env["HOLDFAST_TEST_BUILT"] === "1";
/** Where the outcomes are to be written as JSON, if anywhere. */
const report = process.env["HOLDFAST_REPORT"];
/** Where `npm run test:servers` wants to read what became of each test. */
const record = process.env["HOLDFAST_RECORD"];
/** A folder with the packages of OpenTelemetry that scripts/test-telemetry.mjs has installed. Default: those of the working tree. */
const telemetry = process.env["HOLDFAST_OPENTELEMETRY"];
const againstRedisson = isBuilt(process.env["HOLDFAST_REDISSON"] ?? newest);
const underStress = process.env["HOLDFAST_STRESS_MS"] !== undefined;

/**
 * However a test names a module of the package, by path or by subpath, it gets the one copy under test.
 * Otherwise a class of src/ could meet its twin of dist/.
 */
function oneCopy(): Plugin {
  const sources = new Map(
    Object.entries(subpaths).map(([subpath, source]) => [specifierOf(subpath), source.slice("src/".length)]),
  );
  return {
    name: "holdfast:one-copy",
    enforce: "pre",
    resolveId(specifier, importer) {
      const source = sources.get(specifier);
      if (source !== undefined) return underTest(source.replace(/\.ts$/, ""));
      if (!testsBuilt || importer === undefined || !specifier.startsWith(".")) return null;
      const target = relative(join(root, "src"), join(importer, "..", specifier));
      const isSource = !target.startsWith("..") && target.endsWith(".js");
      return isSource ? underTest(target.slice(0, -".js".length)) : null;
    },
  };
}

/** Tests and sources get the chosen packages of OpenTelemetry. These find each other by themselves. */
function chosenTelemetry(folder: string): Plugin {
  return {
    name: "holdfast:chosen-telemetry",
    enforce: "pre",
    resolveId(specifier, importer, options) {
      if (!specifier.startsWith("@opentelemetry/") || importer?.startsWith(folder)) return null;
      return this.resolve(specifier, join(folder, "package.json"), { ...options, skipSelf: true });
    },
  };
}

function underTest(module: string): string {
  const file = testsBuilt ? join(root, "build/modules", `${module}.js`) : join(root, "src", `${module}.ts`);
  if (!existsSync(file)) throw new Error(`${relative(root, file)} is missing`);
  return file;
}

/** Files that the run leaves out, with commas between them: Vitest's own `--exclude` is not for projects. */
const chosenToLeaveOut = process.env["HOLDFAST_LEAVE_OUT"]?.split(",") ?? [];

const leftOut = [
  ...configDefaults.exclude,
  ...chosenToLeaveOut,
  ...(againstRedisson ? [] : ["test/interop/**"]),
  ...(underStress ? [] : ["test/interop/stress-*.test.ts"]),
  // Modules of the package can neither be loaded anew there, and it warns once for each process, nor fail to load.
  ...(testsBuilt ? ["test/locks/self-wait.test.ts", "test/presence/membership.test.ts"] : []),
];

function projectOf(
  { name, alone, files, decorators }: TestGroup,
  nth: number,
): TestProjectInlineConfiguration {
  return {
    plugins: [oneCopy(), ...(telemetry === undefined ? [] : [chosenTelemetry(telemetry)])],
    // Node 20 does not know `await using`.
    oxc: {
      target: "es2022",
      ...(decorators === undefined ? {} : { decorator: { legacy: true, emitDecoratorMetadata: true } }),
    },
    test: {
      name,
      include: [...files],
      exclude: [...leftOut, ...groups.slice(0, nth).flatMap((group) => group.files)],
      setupFiles: ["test/support/run/preload.ts"],
      pool: "forks",
      isolate: alone,
      // What a test puts in place of something must not meet the next file.
      restoreMocks: !alone,
      unstubEnvs: !alone,
      // A test without an assertion would pass whatever happens.
      expect: { requireAssertions: true, poll: { timeout: 30_000 } },
      execArgv: ["--unhandled-rejections=strict", "--expose-gc", "--max-semi-space-size=64"],
      server: { deps: { external: [/\/build\/modules\//] } },
      // No promise about time is left to these: a machine may do something else for a while.
      testTimeout: 60_000,
      hookTimeout: 60_000,
    },
  };
}

export default defineConfig({
  test: {
    projects: groups.map(projectOf),
    // All projects and all runs share what was made of a file: its content is in the key, and so is the configuration, but not what
    // `oneCopy` and `chosenTelemetry` resolve to.
    experimental: {
      fsModuleCache: true,
      fsModuleCachePath: join(
        root,
        "node_modules/.cache/holdfast-tests",
        `${testsBuilt ? "built" : "sources"}${telemetry === undefined ? "" : `-telemetry-${basename(telemetry)}`}`,
      ),
    },
    globalSetup: ["test/support/run/global-setup.ts"],
    reporters: [
      "default",
      new ClosingLineReporter(),
      new TallyReporter(),
      ...(record === undefined ? [] : [new RunRecorder(record)]),
      ...(report === undefined ? [] : [["json", { outputFile: report }] as ["json", { outputFile: string }]]),
    ],
    // Tests wait for timers, servers and other processes: so many keep two cores busy.
    maxWorkers: 3,
    sequence: { sequencer: SlowestFirst },
    teardownTimeout: 5_000,
  },
});
