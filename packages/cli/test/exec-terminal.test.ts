import { describe, expect, it } from "vitest";
import { locksOnRedis } from "../../../test/support/servers/locks-on-redis.js";
import { whenStopped } from "../../../test/support/servers/process-state.js";
import { execRuns, holdfastProgram, type Run, signalListener } from "./support/exec-runs.js";
import {
  CTRL_BACKSLASH,
  CTRL_C,
  CTRL_D,
  CTRL_Z,
  hasScript,
  startInTerminal,
  type,
} from "./support/terminal.js";

const here = locksOnRedis();
const start = execRuns(() => here.server.url);

const execLine = [
  process.execPath,
  holdfastProgram,
  "exec",
  "a",
  "--",
  process.execPath,
  signalListener,
  "outer",
]
  .map((word) => `'${word}'`)
  .join(" ");
const inTerminal = (line: string): Run => startInTerminal(start, line);

/** Of holdfast and of the command. */
async function pidsIn(run: Run): Promise<{ readonly holdfast: number; readonly command: number }> {
  await run.says("ready");
  await run.says("\n");
  const [, holdfast, command] = /ready (\d+) (\d+)/.exec(run.out) ?? [];
  return { holdfast: Number(holdfast), command: Number(command) };
}

const counted = (text: string, part: string) => text.split(part).length - 1;

describe.runIf(hasScript)("in a terminal", () => {
  it.each([
    ["SIGINT", CTRL_C],
    ["SIGQUIT", CTRL_BACKSLASH],
  ])("%s comes from the terminal, and from it alone", async (signal, key) => {
    const run = inTerminal(execLine);
    const { holdfast } = await pidsIn(run);
    type(run, key);
    await run.says(`outer ${signal}`);
    await run.says(`inner ${signal}`);
    // One more to holdfast alone is not passed on, and not counted as a second one.
    process.kill(holdfast, signal);
    process.kill(holdfast, "SIGUSR1");
    await run.says("outer SIGUSR1");
    expect(counted(run.out, signal)).toBe(2);
    expect(run.out).not.toContain("SIGKILL");
    expect(await here.plain.exists("a")).toBe(1);
    type(run, CTRL_D);
    expect(await run.exited).toBe(3);
    expect(await here.plain.exists("a")).toBe(0);
  });

  it.each(["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGCONT"] as const)(
    "%s goes to the command itself, and not to what it has started",
    async (signal) => {
      const run = inTerminal(execLine);
      const { holdfast } = await pidsIn(run);
      process.kill(holdfast, signal);
      await run.says(`outer ${signal}`);
      type(run, CTRL_C);
      await run.says("inner SIGINT");
      expect(run.out).not.toContain(`inner ${signal}`);
      type(run, CTRL_D);
      expect(await run.exited).toBe(3);
    },
  );

  it("the command reads what is typed, and a wait is ended by Ctrl-C", async () => {
    await here.plain.hset("a", "c:1", "1");
    const run = inTerminal(`${execLine.replace("'--'", "'--report-every' '100ms' '--'")}`);
    await run.says('waiting for "a": held by');
    type(run, CTRL_C);
    expect(await run.exited).toBe(130);
    expect(run.out).not.toContain("ready");
    await here.plain.del("a");
  });

  it("Ctrl-Z gives the shell back, and fg lets the command go on under its lock", async () => {
    const run = inTerminal("sh -i");
    type(run, `${execLine}\n`);
    const { holdfast, command } = await pidsIn(run);
    type(run, CTRL_Z);
    await whenStopped(command);
    await whenStopped(holdfast);
    type(run, "echo shell=$?\n");
    await run.says("shell=1");
    type(run, "fg\n");
    await run.says("outer SIGCONT");
    expect(await here.plain.exists("a")).toBe(1);
    type(run, CTRL_D);
    type(run, "echo code=$?\n");
    await run.says("code=3");
    type(run, "exit\n");
    await run.exited;
  });

  it("a command that ignores SIGTERM is killed all the same when its time is over", async () => {
    const run = inTerminal(execLine.replace("'--'", "'--max-hold' '5s' '--kill-after' '1s' '--'"));
    await pidsIn(run);
    await run.says("reaches the end of its --max-hold");
    await run.says("outer SIGTERM");
    expect(await run.exited).toBe(76);
    expect(await here.plain.exists("a")).toBe(0);
  });
});
