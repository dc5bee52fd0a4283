import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import { guard, killNow } from "../../support/run/guard.js";
import { real } from "../world/trap.js";
import { Silence } from "./silence.js";

const LONG_MS = 1_000_000;
const SPINS = "process.stdout.write('up'); for (;;);";
const SLEEPS = "process.stdout.write('up'); setInterval(() => undefined, 1_000);";

const children: ChildProcess[] = [];
afterEach(() => {
  for (const { pid } of children.splice(0)) if (pid !== undefined) killNow(pid);
});

/** Resolves with the process id of a program once it runs. */
async function running(program: string): Promise<number> {
  const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  if (child.pid === undefined) throw new Error("node could not be started");
  child.once("close", guard(child.pid));
  await new Promise((resolve) => child.stdout?.once("data", resolve));
  return child.pid;
}

/** How long a process is silent that has told something now, by a clock that says that much time has passed. */
function silenceOf(pid: number | undefined): number {
  const silence = new Silence(pid);
  silence.broken(0);
  return silence.lastsMs(LONG_MS);
}

const turn = () => new Promise<void>((resolve) => void real.setImmediate(resolve));

describe.runIf(existsSync("/proc/self/stat"))("the silence of a process", () => {
  test("lasts for as long as it had the processor, where it wants that", async () => {
    const pid = await running(SPINS);
    // Until it spins it may wait for something.
    while (silenceOf(pid) >= LONG_MS) await turn();
    const silence = new Silence(pid);
    silence.broken(0);
    while (silence.lastsMs(0) < 100) await turn();
    expect(silence.lastsMs(LONG_MS)).toBeLessThan(LONG_MS);
  });

  test("lasts for as long as the clock says where it waits for something", async () => {
    const pid = await running(SLEEPS);
    while (silenceOf(pid) < LONG_MS) await turn();
    expect(silenceOf(pid)).toBe(LONG_MS);
  });
});

test("a silence lasts for as long as the clock says where the system does not tell of processes, until it is broken", () => {
  for (const pid of [undefined, 2 ** 30]) {
    const silence = new Silence(pid);
    silence.broken(5);
    expect([silence.lastsMs(6), silence.lastsMs(9)]).toEqual([1, 4]);
    silence.broken(10);
    expect(silence.lastsMs(12)).toBe(2);
  }
});
