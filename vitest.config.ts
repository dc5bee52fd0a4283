import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import type { Plugin } from "vite";
import { configDefaults, defineConfig } from "vitest/config";
import { isBuilt, newest } from "./scripts/redisson.mjs";
import { ClosingLineReporter } from "./test/support/closing-line-reporter.js";
import { LongestFirst } from "./test/support/longest-first.js";

const root = import.meta.dirname;
/** Test what is published, file by file, instead of the sources. */
const testsBuilt = process.env["HOLDFAST_TEST_BUILT"] === "1";

/** Where the outcomes are to be written as JSON, if anywhere. */
const report = process.env["HOLDFAST_REPORT"];
/** All releases are in turn. */
const isCampaign = process.env["HOLDFAST_REDISSON"] !== undefined;
const againstRedisson = isBuilt(process.env["HOLDFAST_REDISSON"] ?? newest);
const allPairs = process.env["HOLDFAST_PAIRS"] === "all";
/** What takes its time, or is about one client of several, is left to `npm run test:topologies`. */
const inCampaigns = [
  "test/connections/**",
  "test/topology/{node-redis,valkey-glide,failover,faults}-*.test.ts",
  "test/topology/{moved-holds,moving-slots,replicas,replica-modes,servers}.test.ts",
];
/** What many processes do at once takes its time as well, and is left to `npm run test:long`. */
const inLong = "test/{kinds,synchronizers}/*processes.test.ts";
const isLong = process.env["HOLDFAST_CAMPAIGN_MS"] !== undefined;
/** The long ones are played with every release by `npm run test:interop`, the newest included. */
const inInterop = "test/interop/{cluster,fair,mixed-fleets,permits,processes,records}.test.ts";
const underStress = process.env["HOLDFAST_STRESS_MS"] !== undefined;

const subpaths: Readonly<Record<string, string>> = {
  holdfast: "index",
  "holdfast/ioredis": "driver/ioredis/index",
  "holdfast/node-redis": "driver/node-redis/index",
  "holdfast/valkey-glide": "driver/valkey-glide/index",
  "holdfast/memory": "memory/index",
  "holdfast/driver-test": "driver/conformance/index",
};

/**
 * However a test names a module of the package, by path or by subpath, it gets the one copy under test.
 * Otherwise a class of src/ could meet its twin of dist/.
 */
function oneCopy(): Plugin {
  return {
    name: "holdfast:one-copy",
    enforce: "pre",
    resolveId(specifier, importer) {
      const subpath = subpaths[specifier];
      if (subpath !== undefined) return underTest(subpath);
      if (!testsBuilt || importer === undefined || !specifier.startsWith(".")) return null;
      const target = relative(join(root, "src"), join(importer, "..", specifier));
      const isSource = !target.startsWith("..") && target.endsWith(".js");
      return isSource ? underTest(target.slice(0, -".js".length)) : null;
    },
  };
}

function underTest(module: string): string {
  const file = testsBuilt ? join(root, "dist/esm", `${module}.js`) : join(root, "src", `${module}.ts`);
  if (!existsSync(file)) throw new Error(`${relative(root, file)} is missing`);
  return file;
}

export default defineConfig({
  plugins: [oneCopy()],
  // Node 20 does not know `await using`.
  oxc: { target: "es2022" },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/global-setup.ts"],
    exclude: [
      ...configDefaults.exclude,
      ...(againstRedisson ? [] : ["test/interop/**"]),
      ...(isCampaign ? [] : [inInterop]),
      ...(allPairs || isLong ? [] : inCampaigns),
      ...(isLong ? [] : [inLong]),
      // Modules of the package can not be loaded anew there, and it warns once for each process.
      ...(testsBuilt ? ["test/locks/self-wait.test.ts"] : []),
      ...(underStress ? [] : ["test/interop/stress.test.ts"]),
    ],
    reporters: [
      "default",
      new ClosingLineReporter(),
      ...(report === undefined ? [] : [["json", { outputFile: report }] as ["json", { outputFile: string }]]),
    ],
    pool: "forks",
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    execArgv: ["--unhandled-rejections=strict", "--expose-gc"],
    server: { deps: { external: [/\/dist\/esm\//] } },
    testTimeout: 15_000,
    hookTimeout: 15_000,
    teardownTimeout: 5_000,
  },
});
