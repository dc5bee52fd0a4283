import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert";
import { type Driver, DriverClosedError, type ReplicaDemand, type ReplicatedReply } from "../driver.js";
import { type ConformanceCase, conformanceCase, evaluate, script } from "./conformance-case.js";

const increment = script("increment", 'return redis.call("INCR", KEYS[1])');
const refusal = script("refusal", 'return redis.error_reply("REFUSED as it was asked to")');
const SHORT_MS = 20;
const LONG_MS = 10_000;

function replicate(
  driver: Driver,
  key: string,
  replicas: ReplicaDemand["replicas"],
  timeoutMs = LONG_MS,
): Promise<ReplicatedReply> {
  ok(driver.runReplicated, "the driver has no runReplicated");
  const call = { script: increment, keys: [key], args: [] };
  return driver.runReplicated(call, { givenUp: false }, { replicas, timeoutMs });
}

/** The promises of `runReplicated`. */
export const replicaCases: readonly ConformanceCase[] = [
  conformanceCase(
    "answers as `run` does, and how many replicas have the writes",
    ["replicate"],
    async (stage, { replicas = 0 }) => {
      const driver = await stage.connect();
      const key = stage.key("counter");
      const reply = await replicate(driver, key, replicas);
      deepStrictEqual(reply, { reply: 1, acknowledged: replicas, wanted: replicas });
      strictEqual(await evaluate(driver, increment, [key]), 2);
    },
  ),

  conformanceCase("knows how many replicas are connected", ["replicate"], async (stage, { replicas = 0 }) => {
    const driver = await stage.connect();
    const key = stage.key("counter");
    strictEqual((await replicate(driver, key, "connected")).wanted, replicas);
    strictEqual((await replicate(driver, key, "all")).wanted, replicas);
    strictEqual((await replicate(driver, key, "majority")).wanted, Math.floor(replicas / 2) + 1);
  }),

  conformanceCase(
    "reports that replicas are missing when the time for them is over",
    ["replicate"],
    async (stage, { replicas = 0 }) => {
      const driver = await stage.connect();
      const key = stage.key("counter");
      const { acknowledged, ...rest } = await replicate(driver, key, replicas + 1, SHORT_MS);
      deepStrictEqual(rest, { reply: 1, wanted: replicas + 1 });
      ok(acknowledged <= replicas);
    },
  ),

  conformanceCase(
    "answers each of many calls made at once, and rejects the refused ones",
    ["replicate"],
    async (stage, { replicas = 0 }) => {
      const driver = await stage.connect();
      const key = stage.key("counter");
      const many = Array.from({ length: 100 }, () => replicate(driver, key, replicas));
      ok(driver.runReplicated);
      const call = { script: refusal, keys: [key], args: [] };
      const demand = { replicas, timeoutMs: LONG_MS };
      await rejects(driver.runReplicated(call, { givenUp: false }, demand), { code: "REFUSED" });
      const replies = await Promise.all(many);
      deepStrictEqual(
        replies.map(({ reply }) => reply),
        Array.from({ length: 100 }, (_, i) => i + 1),
      );
      ok(replies.every(({ acknowledged }) => acknowledged >= replicas));
    },
  ),

  conformanceCase(
    "runs a script for replicas that the server has forgotten",
    ["replicate", "flush-scripts"],
    async (stage, harness) => {
      const { replicas = 0 } = harness;
      const driver = await stage.connect();
      const key = stage.key("counter");
      for (const expected of [1, 2, 3]) {
        const { reply, acknowledged } = await replicate(driver, key, replicas);
        deepStrictEqual([reply, acknowledged], [expected, replicas]);
        await harness.flushScripts?.();
      }
    },
  ),

  conformanceCase("refuses calls for replicas once it is closed", ["replicate"], async (stage) => {
    const driver = await stage.connect();
    const key = stage.key("counter");
    await replicate(driver, key, 0);
    await driver.close();
    await rejects(replicate(driver, key, 0), DriverClosedError);
  }),
];
