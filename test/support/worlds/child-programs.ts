import { afterEach } from "vitest";
import { type Child, type ProgramSettings, spawnProgram } from "./child.js";

/** Starts a program of `programs/`. Resolves when it is ready. */
export type StartProgram = <Name extends keyof ProgramSettings>(
  name: Name,
  settings: ProgramSettings[Name],
) => Promise<Child>;

/** To be called once in a file. Stops after each test the processes that it has started. */
export function childPrograms(): StartProgram {
  const children: Child[] = [];
  afterEach(async () => {
    await Promise.all(children.splice(0).map((child) => child.stop()));
  });
  return async (name, settings) => {
    const child = spawnProgram(name, settings);
    children.push(child);
    await child.next("ready");
    return child;
  };
}
