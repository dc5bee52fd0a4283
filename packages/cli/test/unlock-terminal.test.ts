import { describe, expect, it } from "vitest";
import { locksOnRedis } from "../../../test/support/servers/locks-on-redis.js";
import { FOREIGN } from "../../../test/support/worlds/foreign-holder.js";
import { execRuns, holdfastProgram, type Run } from "./support/exec-runs.js";
import { BACKSPACE, CTRL_C, CTRL_D, hasScript, startInTerminal, type } from "./support/terminal.js";

const here = locksOnRedis();
const start = execRuns(() => here.server.url);
const PROMPT = "to free it, type its name (a): ";

async function asked(): Promise<Run> {
  await here.plain.hset("a", FOREIGN, "1");
  const run = startInTerminal(start, `'${process.execPath}' '${holdfastProgram}' unlock a --force`);
  await run.says(PROMPT);
  expect(run.out).toContain(FOREIGN);
  expect(await here.plain.hkeys("a")).toEqual([FOREIGN]);
  return run;
}

describe.runIf(hasScript)("unlock --force in a terminal", () => {
  it.each<[string, string]>([
    ["its name is typed", "a\r"],
    ["its name is typed in the end", `b${BACKSPACE}a\r`],
  ])("frees the lock when %s", async (_, keys) => {
    const run = await asked();
    type(run, keys);
    expect(await run.exited).toBe(0);
    expect(run.out).toContain("a: freed");
    expect(await here.plain.exists("a")).toBe(0);
  });

  it.each<[string, string]>([
    ["y is typed", "y\r"],
    ["n is typed", "n\r"],
    ["nothing is typed", "\r"],
    ["the input ends by Ctrl-D", CTRL_D],
  ])("does nothing when %s", async (_, keys) => {
    const run = await asked();
    type(run, keys);
    expect(await run.exited).toBe(1);
    expect(run.out).toContain("nothing was done: its name was not typed");
    expect(await here.plain.hkeys("a")).toEqual([FOREIGN]);
    await here.plain.del("a");
  });

  it("is ended by Ctrl-C, although the name was typed before", async () => {
    const run = await asked();
    type(run, `a${CTRL_C}`);
    expect(await run.exited).toBe(130);
    expect(await here.plain.hkeys("a")).toEqual([FOREIGN]);
    await here.plain.del("a");
  });
});
