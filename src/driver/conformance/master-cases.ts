import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert";
import { type Driver, DriverClosedError, type MasterReply, ServerReplyError } from "../driver.js";
import { type ConformanceCase, conformanceCase, script } from "./conformance-case.js";

const words = script("words", "return { #KEYS, #ARGV, ARGV[1] }");
const identity = script("identity", 'return string.match(redis.call("INFO", "server"), "run_id:(%w+)")');
const refusal = script("refusal", 'return redis.error_reply("REFUSED as it was asked to")');

/** The promises of `everywhere`. */
export const masterCases: readonly ConformanceCase[] = [
  conformanceCase(
    "runs a script without keys on each master and answers once for each",
    ["reaches-every-master"],
    async (stage, { masters, flushScripts }) => {
      const driver = await stage.connect();
      for (const text of ["", "grüße", "鍵 🔒"]) {
        const replies = await everywhere(driver, words, [text, "more"]);
        strictEqual(replies.length, masters);
        for (const { reply } of replies) deepStrictEqual(reply, [0, 2, text]);
        await flushScripts?.();
      }
      const replies = await everywhere(driver, identity);
      strictEqual(new Set(replies.map(({ reply }) => reply)).size, masters);
      const names = new Set(replies.map(({ server }) => server));
      strictEqual(names.size, masters);
      for (const name of names) ok(name !== "" && !name.includes("@"), name);
    },
  ),

  conformanceCase(
    "answers from all masters or rejects when its client has lost one of the masters",
    ["reaches-every-master", "lose-master"],
    async (stage, { masters, loseMaster }) => {
      const driver = await stage.connect();
      await everywhere(driver, words);
      await loseMaster?.(driver);
      // The client may have found the master again by now.
      const replies = await everywhere(driver, words).catch(() => undefined);
      strictEqual(replies?.length ?? masters, masters);
    },
  ),

  conformanceCase(
    "rejects as a whole when the masters refuse a script, and once it is closed",
    ["reaches-every-master"],
    async (stage) => {
      const driver = await stage.connect();
      await rejects(everywhere(driver, refusal), (error: unknown) => {
        ok(error instanceof ServerReplyError, `${error} is no ServerReplyError`);
        strictEqual(error.code, "REFUSED");
        return true;
      });
      await driver.close();
      await rejects(everywhere(driver, words), DriverClosedError);
    },
  ),
];

async function everywhere(
  driver: Driver,
  source: typeof words,
  args: readonly string[] = [],
): Promise<readonly MasterReply[]> {
  ok(driver.everywhere, "the driver can not ask each master");
  return driver.everywhere({ script: source, keys: [], args }, { givenUp: false });
}
