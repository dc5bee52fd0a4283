import type { Input } from "../../src/command.js";
import { run } from "../../src/program.js";

/** What a command line has written, and its exit code. */
export interface Written {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  /** The lines of stdout. */
  readonly lines: readonly string[];
}

export interface RunOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** Of a terminal; without it stdout is none. */
  readonly columns?: number;
  /** What is typed. Default: there is none. */
  readonly input?: Input;
  /** Told what stdout has so far, each time that something is written to it. */
  readonly onWrite?: (out: string) => void;
}

/** Runs a command line within this process. */
export async function holdfast(
  args: readonly string[],
  { env = {}, columns, input, onWrite }: RunOptions = {},
): Promise<Written> {
  const written = { out: "", err: "" };
  const stream = (name: "out" | "err") => ({
    ...(columns === undefined ? {} : { isTTY: true, columns, rows: 24 }),
    write: (text: string) => {
      written[name] += text;
      if (name === "out") onWrite?.(written.out);
    },
  });
  const code = await run(args, { env, out: stream("out"), err: stream("err"), input });
  return { code, ...written, lines: written.out.split("\n").slice(0, -1) };
}
