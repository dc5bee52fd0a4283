import type { TestProject } from "vitest/node";
import { build } from "../../../scripts/build.mjs";
import { journalArgs } from "../servers/key-journal.js";
import { findServer, serverVersion } from "../servers/redis-program.js";
import { startMany, stopAll } from "../servers/redis-server.js";
import type { WorkerServerPlace } from "../servers/worker-server.js";

declare module "vitest" {
  export interface ProvidedContext {
    readonly workerServers: readonly WorkerServerPlace[];
  }
}

/**
 * Child programs and the tests of HOLDFAST_TEST_BUILT run built code (these module by module), so build what is stale first. While
 * somebody is working, tests of finished parts should run in spite of type errors elsewhere; `npm run types`
 * fails on those. Starts a server for each worker.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  process.stdout.write(`server: ${serverVersion()} (${findServer()})\n`);
  const testsBuilt = process.env["HOLDFAST_TEST_BUILT"] === "1";
  if (!(await build({ keepGoing: !testsBuilt }))) {
    if (testsBuilt) throw new Error("the build failed, so there is nothing to test");
    process.stderr.write("Built in spite of type errors: `npm run types` shows them.\n");
  }
  const servers = await startMany(Number(project.vitest.config.maxWorkers), { args: journalArgs });
  project.provide(
    "workerServers",
    servers.map(({ port, pid }) => ({ port, pid })),
  );
  return () => stopAll(servers);
}
