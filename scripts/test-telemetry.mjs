// @ts-check
/**
 * Runs the tests of holdfast/otel with the newest API and SDK of OpenTelemetry, on a release of Node that they run on: the working tree has
 * the oldest API that the peer range allows, as Node 20 needs. Arguments go to Vitest.
 */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installedNode } from "./node-releases.mjs";
import { mustRun } from "./run-command.mjs";
import { root, runTier } from "./tiers.mjs";

/** SDK 3 needs 22.15 or later. */
const NODE = 24;
const versions = {
  api: "1.10.0",
  "context-async-hooks": "3.1.1",
  instrumentation: "0.301.1",
  "instrumentation-ioredis": "0.72.0",
  "instrumentation-redis": "0.72.0",
  "sdk-metrics": "3.1.1",
  "sdk-trace": "3.1.1",
};
const folder = join(root, "node_modules/.cache/holdfast-telemetry", versions["sdk-trace"]);

await provide();
const node = await installedNode(NODE);
const files = ["test/otel/instrumentation.test.ts", "test/otel/metrics.test.ts", "test/otel/spans.test.ts"];
const names = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
console.log(`Node ${(await mustRun(node, ["--version"])).trim()}, ${names.join(", ")}`);
const { ok } = await runTier("telemetry", [...files, ...process.argv.slice(2)], {
  env: { HOLDFAST_OPENTELEMETRY: folder },
  isWhole: false,
  node,
});
process.exitCode = ok ? 0 : 1;

async function provide() {
  const done = join(folder, "done");
  if (existsSync(done)) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
  const packages = Object.entries(versions).map(([name, version]) => `@opentelemetry/${name}@${version}`);
  await mustRun("npm", ["install", "--prefix", folder, "--loglevel=error", ...packages]);
  writeTraceBase();
  writeFileSync(done, "");
}

/** SDK 3 has no `sdk-trace-base` any more: what the tests take from it, by the names of SDK 2. */
function writeTraceBase() {
  const base = join(folder, "node_modules/@opentelemetry/sdk-trace-base");
  mkdirSync(base, { recursive: true });
  writeFileSync(
    join(base, "package.json"),
    '{ "name": "@opentelemetry/sdk-trace-base", "type": "module", "exports": "./index.js" }\n',
  );
  writeFileSync(
    join(base, "index.js"),
    `import { SimpleSpanProcessor as Processor } from "@opentelemetry/sdk-trace";
export { InMemorySpanExporter, TracerProvider as BasicTracerProvider } from "@opentelemetry/sdk-trace";
export class SimpleSpanProcessor extends Processor {
  constructor(exporter) {
    super({ exporter });
  }
}
`,
  );
}
