import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** The path of the first redis-server, else of the first valkey-server, on PATH. */
export function findServer(): string {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  for (const name of ["redis-server", "valkey-server"]) {
    for (const folder of folders) {
      const program = join(folder, name);
      try {
        accessSync(program, constants.X_OK);
        return program;
      } catch {
        // Not here; the next folder may have it.
      }
    }
  }
  throw new Error(
    "no redis-server and no valkey-server on PATH: run `npm test`, which says how to install one",
  );
}
