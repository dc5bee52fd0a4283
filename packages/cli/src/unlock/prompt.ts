import type { Input } from "../command.js";

/** Reads a typed line, which the terminal delivers after Enter. @returns undefined if the input ends before */
export function readLine(input: Input): Promise<string | undefined> {
  return new Promise((resolve) => {
    let text = "";
    const end = (line: string | undefined) => {
      input.off("data", take);
      input.off("end", stop);
      // Otherwise the input would keep the process alive.
      input.pause();
      resolve(line);
    };
    const take = (chunk: Buffer | string) => {
      text += chunk;
      const [line, rest] = text.split(/\r?\n/, 2);
      if (rest !== undefined) end(line);
    };
    const stop = () => end(undefined);
    input.on("data", take);
    input.on("end", stop);
    input.resume();
  });
}
