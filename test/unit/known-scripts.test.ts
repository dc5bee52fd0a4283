import { beforeEach, expect, test } from "vitest";
import { ServerReplyError } from "../../src/driver/driver.js";
import { KnownScripts, type ScriptSender } from "../../src/driver/known-scripts.js";
import { callOf, ticket } from "../support/servers/scripted-master.js";

const call = callOf("a", "k");
let sent: string[];
let refusal: string | undefined;
let scripts: KnownScripts;
const sender: ScriptSender = {
  send: async (command) => {
    sent.push(command);
    if (command === "EVALSHA" && refusal !== undefined) throw new ServerReplyError(refusal);
    return "done";
  },
};
const run = () => scripts.run(call, ticket(), sender, "server");

beforeEach(() => {
  sent = [];
  refusal = undefined;
  scripts = new KnownScripts((error) => error);
});

test.each([
  "ERR unknown command 'EVALSHA', with args beginning with: 'f3dc' '1' 'k' ",
  "ERR unknown command `evalsha`, with args beginning with: `f3dc`, `1`, ",
  "NOPERM this user has no permissions to run the 'evalsha' command",
  "NOPERM this user has no permissions to run the 'evalsha' command or its subcommand",
  "ERR handle request, command 'EVALSHA' is not allowed",
])("go in full where the answer is %s, until the connection is lost [own-94]", async (answer) => {
  await run();
  refusal = answer;
  expect([await run(), await run(), await run()]).toEqual(["done", "done", "done"]);
  expect(sent).toEqual(["EVAL", "EVALSHA", "EVAL", "EVAL", "EVAL"]);
  scripts.forget("server");
  sent = [];
  refusal = undefined;
  await run();
  await run();
  expect(sent).toEqual(["EVAL", "EVALSHA"]);
});

test("are not sent again where the refusal is of something else, or came from the script", async () => {
  await run();
  for (const answer of [
    "OOM command not allowed when used memory > 'maxmemory'.",
    "NOPERM this user has no permissions to access one of the keys used as arguments",
    "ERR Error running script (call to f_a1): @user_script:1: @user_script: 1: evalsha is not allowed",
  ]) {
    refusal = answer;
    sent = [];
    await expect(run()).rejects.toBeInstanceOf(ServerReplyError);
    expect(sent).toEqual(["EVALSHA"]);
  }
});

test("are not sent again for a call that was given up [own-94]", async () => {
  await run();
  refusal = "ERR unknown command 'EVALSHA'";
  const given = ticket();
  const answer = scripts.run(call, given, sender, "server");
  given.givenUp = true;
  await expect(answer).rejects.toThrow("EVALSHA");
  expect(sent).toEqual(["EVAL", "EVALSHA"]);
});
