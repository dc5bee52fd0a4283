import { nameWords } from "../text/shell-word.js";

/**
 * The command that prints which rights locks of this name lack, and the ACL line that gives these rights.
 * @param asTyped options of the connection
 */
export function doctorLine(name: string, asTyped: readonly string[]): string {
  const { word, options } = nameWords(name);
  return ["holdfast doctor", `--name ${word}`, ...options, ...asTyped].join(" ");
}
