import { build } from "../../scripts/build.mjs";
import { findServer, serverVersion } from "./redis-program.js";

/**
 * Child programs and the tests of HOLDFAST_TEST_BUILT run built code, so build what is stale first. While
 * somebody is working, tests of finished parts should run in spite of type errors elsewhere; `npm run types`
 * fails on those.
 */
export default async function setup(): Promise<void> {
  process.stdout.write(`server: ${serverVersion()} (${findServer()})\n`);
  const testsBuilt = process.env["HOLDFAST_TEST_BUILT"] === "1";
  if (await build({ keepGoing: !testsBuilt })) return;
  if (testsBuilt) throw new Error("the build failed, so there is nothing to test");
  process.stderr.write("Built in spite of type errors: `npm run types` shows them.\n");
}
