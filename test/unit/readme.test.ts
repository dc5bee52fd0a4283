import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { until } from "../support/run/until.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { root } from "../support/tidy/tree.js";

const redis = locksOnRedis();
const run = promisify(execFile);

/** Below the root, where the built package is found by its name. */
const FOLDER = join(root, "build/test/readme");

test("the first program of the README can be pasted, runs in the process and on a server, and ends", async () => {
  const [, program = ""] = /^```js\n(.*?)^```$/ms.exec(readFileSync(join(root, "README.md"), "utf8")) ?? [];
  mkdirSync(FOLDER, { recursive: true });
  const file = join(FOLDER, "pay.mjs");
  writeFileSync(file, program);
  const arrivals = await redis.arrivals();
  for (const REDIS_URL of ["", redis.server.url]) {
    const { stdout, stderr } = await run(process.execPath, [file], { env: { ...process.env, REDIS_URL } });
    expect([stdout, stderr]).toEqual(["40\n", ""]);
  }
  // On the server the second has done so.
  await until(() => arrivals.all > 0);
  // And without the lock it would answer something else.
  writeFileSync(file, program.replace(/holdfast\.using\("account:42", (.*?)\n {2}\}\);/s, "($1\n  })({});"));
  const { stdout } = await run(process.execPath, [file], { env: { ...process.env, REDIS_URL: "" } });
  expect(stdout).toBe("70\n");
});
