import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

/** How far the documents are from what the package of holdfast exports. */
const ABOVE = ["..", "..", ".."];

/**
 * Where a page of holdfast's documents is on this machine, as its package has them; what it is called where they are not installed.
 * @param page as `docs/guide/servers.md#managed-services`
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
