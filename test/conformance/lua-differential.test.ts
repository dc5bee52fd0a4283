import type { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bytesOfArray } from "../../src/memory/byte-strings.js";
import { LuaInterpreter } from "../../src/memory/lua-interpreter.js";
import { ErrorReply, type Reply, Status } from "../../src/memory/reply.js";
import { scriptSource } from "../../src/protocol/script-call.js";
import { luaSnippets, nastyTexts } from "../support/models/lua-snippets.js";
import { workerServer } from "../support/servers/worker-server.js";

/** What an answer is that no client decodes. Errors are worded otherwise, and are bugs of a script in any case. */
const FAILED = "failed";

let server: Awaited<ReturnType<typeof workerServer>>;
let redis: Redis;
beforeAll(async () => {
  server = await workerServer();
  redis = server.client();
});
afterAll(() => server?.stop());

/** Runs no command: what commands answer is compared elsewhere. */
const embedded = new LuaInterpreter(([name, word = ""]) => {
  if (name === "ECHO") return word;
  if (name === "EXISTS") return 0;
  throw new TypeError("no snippet calls anything else");
});

async function onRedis(snippets: readonly string[]): Promise<readonly unknown[]> {
  const args = nastyTexts.map((text) => Buffer.from(text, "latin1"));
  const pipeline = redis.pipeline();
  for (const lua of snippets) pipeline.callBuffer("EVAL", lua, 0, ...args);
  const answers = (await pipeline.exec()) ?? [];
  return answers.map(([error, reply]) => (error ? FAILED : readable(reply)));
}

function readable(reply: unknown): unknown {
  if (Buffer.isBuffer(reply)) return bytesOfArray(reply);
  return Array.isArray(reply) ? reply.map(readable) : reply;
}

/** What the embedded server says where it does not do what Lua 5.3 would do otherwise than 5.1. */
const REFUSAL = /the embedded server (?:(does not compile|has no) .*?|(.*?))(?: script: \w+, on .*)?$/;

/** The answer. A refusal is its words. */
function onEmbedded(lua: string): unknown {
  return answerOf(embedded.run(scriptSource("snippet", lua), [], nastyTexts));
}

function answerOf(reply: Reply): unknown {
  if (reply instanceof ErrorReply) return REFUSAL.exec(reply.message)?.[0] ?? FAILED;
  if (reply instanceof Status) return reply.text;
  return typeof reply === "object" && reply !== null ? reply.map(answerOf) : reply;
}

/** Takes the answer of the real server for each refusal. @param note is told of it */
function besidesRefusals(answer: unknown, other: unknown, note: (refusal: string) => void): unknown {
  const [, kind, words] = typeof answer === "string" ? (REFUSAL.exec(answer) ?? []) : [];
  const refusal = kind ?? words;
  if (refusal !== undefined) {
    note(refusal);
    return other;
  }
  if (!Array.isArray(answer) || !Array.isArray(other)) return answer;
  return answer.map((item, at) => besidesRefusals(item, other[at], note));
}

/** The lines of a snippet whose answers differ, or all of it. */
function differences(lua: string, answer: unknown, other: unknown): readonly string[] {
  const differ = (line: string, one: unknown, another: unknown) =>
    `${line}: ${JSON.stringify(one)}, not ${JSON.stringify(another)}`;
  const lines = lua.split("\n").filter((line) => line.includes("attempt(function() "));
  if (!Array.isArray(answer) || !Array.isArray(other) || lines.length === 0)
    return [differ(lua, answer, other)];
  return lines.flatMap((line, at) =>
    JSON.stringify(answer[at]) === JSON.stringify(other[at]) ? [] : [differ(line, answer[at], other[at])],
  );
}

describe.each(luaSnippets)("in Lua, $title", ({ snippets, refusals = [] }) => {
  test("the embedded server answers what redis-server answers, byte for byte, or refuses [own-91]", async () => {
    const answers = await onRedis(snippets);
    const seen = new Set<string>();
    const unlike = snippets.flatMap((lua, at) => {
      const answer = besidesRefusals(onEmbedded(lua), answers[at], (refusal) => seen.add(refusal));
      if (JSON.stringify(answer) === JSON.stringify(answers[at])) return [];
      return differences(lua, answer, answers[at]);
    });
    expect(unlike).toEqual([]);
    expect([...seen].sort()).toEqual([...refusals].sort());
  });
});
