import type { Output } from "../output.js";
import { wrapped } from "./plain.js";

/** What is to be typed, below what it is for: the line itself is broken by the terminal alone, so that it can be copied. */
export function tellWay(output: Output, purpose: string, line: string): void {
  output.line();
  for (const text of wrapped(purpose, output.columns ?? Number.POSITIVE_INFINITY))
    output.line(output.paint("dim", text));
  output.line(`  ${output.paint("cyan", line)}`);
}
