import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

/** The path from the entry file of the package of holdfast to its documents. */
const ABOVE = ["..", "..", ".."];

/**
 * The path of a page of holdfast's documents on this machine, in the installed package. If the documents are not installed, the name of the
 * page.
 * @param page for example `docs/guide/servers.md#managed-services`
 */
export function docPage(page: string, root: string | undefined = packageRoot()): string {
  const [file = "", anchor] = page.split("#");
  const path = root === undefined ? undefined : join(root, file);
  if (path === undefined || !existsSync(path)) return `${page} in the source of holdfast`;
  return anchor === undefined ? path : `${path}#${anchor}`;
}

function packageRoot(): string | undefined {
  try {
    return join(createRequire(import.meta.url).resolve("holdfast"), ...ABOVE);
  } catch {
    return undefined;
  }
}
