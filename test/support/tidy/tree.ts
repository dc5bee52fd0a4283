import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const root = join(import.meta.dirname, "../../..");

const IGNORED = /^(?:node_modules|dist|build|coverage|\.git|.*\.next-\d+)$/;
const TEXT = /\.(?:ts|mjs|lua|md|jsonc?|yml)$|^\.ci\//;
/** Its rules and offences spell out what they forbid. */
const OWN_FOLDER = "test/support/tidy/";

/** Paths, relative to the root and with forward slashes, of all text files that belong to the project. */
export function projectFiles(folder = ""): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}${entry.name}`;
    if (entry.isDirectory()) return IGNORED.test(entry.name) ? [] : projectFiles(`${path}/`);
    return TEXT.test(path) && !path.startsWith(OWN_FOLDER) ? [path] : [];
  });
}

export function read(path: string): string {
  return readFileSync(join(root, path), "utf8");
}
