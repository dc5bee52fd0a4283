import { execFileSync } from "node:child_process";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The projects that are compiled with a check of types: by `npm run types`, by tests, and by the tiers whose packages it does not have. */
const projects = [
  ...["tsconfig.json", "page/tsconfig.json", "packages/nestjs/tsconfig.json"],
  ...["test/databases/tsconfig.json", "examples/fencing/tsconfig.json", "examples/nestjs/tsconfig.json"],
  ...["bench/tsconfig.json", "site/tsconfig.json"],
  ...["test/support/documents/tsconfig.json", "packages/nestjs/test/documents/tsconfig.json"],
];

/** What `npm run test:nest` compiles against each release of Nest. */
const SHOP = "packages/nestjs/test/shop/";

function filesOf(project: string): string[] {
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const shown = execFileSync(process.execPath, [compiler, "-p", join(root, project), "--showConfig"], {
    encoding: "utf8",
  });
  const { files } = JSON.parse(shown) as { files: string[] };
  return files.map((file) => normalize(join(dirname(project), file)));
}

test("each TypeScript file of the repository is in a project that is checked", () => {
  const checked = new Set(projects.flatMap(filesOf));
  const all = execFileSync("git", ["ls-files", "*.ts", "*.tsx", "*.mts", "*.cts"], {
    cwd: root,
    encoding: "utf8",
  })
    .trim()
    .split("\n");
  expect(all.length).toBeGreaterThan(1_000);
  expect(all.filter((file) => !checked.has(file) && !file.startsWith(SHOP))).toEqual([]);
});
