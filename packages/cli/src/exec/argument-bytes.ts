import { readFileSync } from "node:fs";
import type { Runnable } from "./exec-options.js";

/** Node's replacement for bytes that are not UTF-8. */
const REPLACEMENT = "\ufffd";

/**
 * The same program with the typed arguments, byte for byte. Node reads and writes arguments as UTF-8. If this loses bytes, and the system
 * shows the original arguments, a shell restores the bytes and then replaces itself with the program.
 */
export function withBytes(runnable: Runnable): Runnable {
  const words = [runnable.file, ...runnable.args];
  if (!words.some((word) => word.includes(REPLACEMENT))) return runnable;
  const typed = typedArguments();
  if (typed === undefined || typed.length < words.length) return runnable;
  const own = typed.slice(-words.length);
  // With --shell, only the last argument was typed.
  const bytes = words.map((word, at) => {
    const found = own[at];
    return found?.toString("utf8") === word ? found : Buffer.from(word);
  });
  return { ...runnable, file: "sh", args: ["-c", scriptOf(bytes)] };
}

/** The arguments of this process; undefined if the system does not show them. */
function typedArguments(): readonly Buffer[] | undefined {
  try {
    return split(readFileSync("/proc/self/cmdline"));
  } catch {
    return undefined;
  }
}

/** Each argument ends with a zero byte. */
function split(bytes: Buffer): readonly Buffer[] {
  const parts = [];
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(0, from);
    if (end < 0) break;
    parts.push(bytes.subarray(from, end));
    from = end + 1;
  }
  return parts;
}

/** A shell removes line breaks at the end of a substitution: the x prevents this. */
function scriptOf(words: readonly Buffer[]): string {
  const set = words.map((word) => {
    const octal = [...word].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
    return `_holdfast=$(printf '${octal}x'); set -- "$@" "\${_holdfast%x}"`;
  });
  return [...set, "unset _holdfast", 'exec "$@"'].join("\n");
}
