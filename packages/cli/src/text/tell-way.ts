import type { Output } from "../output.js";
import { wrapped } from "./plain.js";

/** Prints the purpose of a command and, below it, the command line. Only the terminal wraps the line, so that it can be copied. */
export function tellWay(output: Output, purpose: string, line: string): void {
  output.line();
  for (const text of wrapped(purpose, output.columns ?? Number.POSITIVE_INFINITY))
    output.line(output.paint("dim", text));
  output.line(`  ${output.paint("cyan", line)}`);
}
