import { describe, expect, test } from "vitest";
import { ServerReplyError } from "../../src/driver/driver.js";

const SHA1 = "890a13d8f6b65eaa9fc2c41545192b463ce093a1";
const READONLY = "READONLY You can't write against a read only replica.";
const WRONGTYPE = "WRONGTYPE Operation against a key holding the wrong kind of value";

/** What a server answers, the words of it that count, and whether a script was running. */
const answers: readonly (readonly [from: string, answer: string, message: string, fromScript: boolean])[] = [
  [
    "Redis 6.2, redis.call",
    `ERR Error running script (call to f_${SHA1}): @user_script:21: @user_script: 21: -${READONLY}`,
    READONLY,
    true,
  ],
  [
    "Redis 6.2, redis.call that the command itself refuses",
    `ERR Error running script (call to f_${SHA1}): @user_script:1: ${WRONGTYPE}`,
    WRONGTYPE,
    true,
  ],
  [
    "Redis 6.2, redis.pcall",
    "@user_script: 64: -OOM command not allowed when used memory > 'maxmemory'.\r\n",
    "OOM command not allowed when used memory > 'maxmemory'.",
    true,
  ],
  [
    "Redis 6.2, without a code",
    `ERR Error running script (call to f_${SHA1}): @user_script:1: @user_script: 1: The user executing the script can't run this command or subcommand`,
    "ERR The user executing the script can't run this command or subcommand",
    true,
  ],
  [
    "Redis 6.2, Lua",
    `ERR Error running script (call to f_${SHA1}): @user_script:1: user_script:1: attempt to index local 'm' (a nil value)`,
    "ERR user_script:1: attempt to index local 'm' (a nil value)",
    true,
  ],
  [
    "Redis 7",
    `${READONLY} script: ${SHA1}, on @user_script:1.`,
    `${READONLY} script: ${SHA1}, on @user_script:1.`,
    true,
  ],
  ["Valkey 9", `${WRONGTYPE} script: on @user_script:1.`, `${WRONGTYPE} script: on @user_script:1.`, true],
  ["any, before the script", READONLY, READONLY, false],
  [
    "any, before the script",
    "ERR Error compiling script (new function): user_script:1: unexpected symbol near '<eof>'",
    "ERR Error compiling script (new function): user_script:1: unexpected symbol near '<eof>'",
    false,
  ],
];

describe("ServerReplyError", () => {
  test.each(answers)("has the server's own words: %s: %s [own-9]", (_, answer, message, fromScript) => {
    const cause = new Error(answer);
    const error = new ServerReplyError(answer, { cause });
    const code = /^[A-Z]+/.exec(message)?.[0];
    expect(error).toMatchObject({ message, code, fromScript, cause });
  });
});
