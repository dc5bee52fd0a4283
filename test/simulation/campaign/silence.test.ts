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
  guard(child.pid);
  await new Promise((resolve) => child.stdout?.once("data", resolve));
  return child.pid;
}

/** Whether the silence of a process that has told something now is long, by a clock that says that much time has passed. */
async function isLong(pid: number | undefined): Promise<boolean> {
  const silence = new Silence(pid);
  silence.broken(0);
  return silence.lastsMs(LONG_MS) >= LONG_MS;
}

describe.runIf(existsSync("/proc/self/stat"))("the silence of a process", () => {
  test("lasts for as long as it had the processor, where it wants that", async () => {
    expect(await isLong(await running(SPINS))).toBe(false);
  });

  test("grows with what it had of the processor", async () => {
    const silence = new Silence(await running(SPINS));
    silence.broken(0);
    while (silence.lastsMs(0) < 100) await new Promise<void>((resolve) => void real.setImmediate(resolve));
    silence.broken(0);
    expect(silence.lastsMs(0)).toBeLessThan(100);
  });

  test("lasts for as long as the clock says where it waits for something", async () => {
    const pid = await running(SLEEPS);
    const asleep = async () => {
      const silence = new Silence(pid);
      silence.broken(0);
      return silence.lastsMs(LONG_MS) >= LONG_MS;
    };
    while (!(await asleep())) await new Promise<void>((resolve) => void real.setImmediate(resolve));
    expect(await isLong(pid)).toBe(true);
  });
});

test("a silence lasts for as long as the clock says where the system does not tell of processes", async () => {
  expect(await isLong(undefined)).toBe(true);
  expect(await isLong(2 ** 30)).toBe(true);
});
