// @ts-check
/**
 * Looks at the tarballs as their users get them.
 *
 *   node scripts/check-packed.mjs contents   how many files and bytes holdfast has, and whether a link in a tarball leads nowhere
 *   node scripts/check-packed.mjs publint    their manifests
 *   node scripts/check-packed.mjs attw       their types, as each way of resolving modules finds them
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { pack, repositoryAt } from "./pack.mjs";
import { mustRun, runCommand } from "./run-command.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const MOST_FILES = 60;
const MOST_BYTES = 1_300_000;

/** @type {Record<string, (tarball: string) => Promise<boolean>>} */
const checks = {
  contents: checkContents,
  publint: (tarball) => passes("publint", ["--strict", tarball]),
  // A program has nothing to import.
  attw: async (tarball) =>
    tarball.includes("holdfast-cli") || passes("attw", [tarball, "--profile", "node16", "--no-emoji"]),
};

const check = checks[process.argv[2] ?? ""];
if (check === undefined)
  throw new TypeError(`one of ${Object.keys(checks).join(", ")}, got ${process.argv[2]}`);
const folder = mkdtempSync(join(tmpdir(), "holdfast-packed-"));
try {
  for (const tarball of await pack(folder)) {
    if (!(await check(tarball))) process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true });
}

/**
 * @param {string} program of a development package
 * @param {readonly string[]} args
 */
async function passes(program, args) {
  return (await runCommand(join(root, "node_modules/.bin", program), args)).ok;
}

/** @param {string} tarball */
async function checkContents(tarball) {
  await mustRun("tar", ["-xzf", tarball, "-C", folder]);
  const unpacked = join(folder, "package");
  const files = readdirSync(unpacked, { recursive: true, encoding: "utf8" }).filter((file) =>
    statSync(join(unpacked, file)).isFile(),
  );
  const bytes = files.reduce((sum, file) => sum + statSync(join(unpacked, file)).size, 0);
  const manifest = JSON.parse(readFileSync(join(unpacked, "package.json"), "utf8"));
  console.log(`${manifest.name}: ${files.length} files, ${bytes} bytes, ${statSync(tarball).size} packed`);
  const faults = files.flatMap((file) => deadLinks(unpacked, file, manifest));
  if (manifest.name === "holdfast") {
    if (files.length > MOST_FILES) faults.push(`more than ${MOST_FILES} files`);
    if (bytes > MOST_BYTES) faults.push(`more than ${MOST_BYTES} bytes`);
  }
  for (const fault of faults) console.error(`  ${fault}`);
  rmSync(unpacked, { recursive: true });
  return faults.length === 0;
}

/**
 * A link leads to a file of the tarball, or to one of the repository, where this checkout stands for its tag.
 *
 * @param {string} unpacked
 * @param {string} file
 * @param {{ version: string, repository: { url: string } }} manifest
 */
function deadLinks(unpacked, file, manifest) {
  const text = readFileSync(join(unpacked, file), "utf8");
  const { pages, files } = repositoryAt(manifest);
  const addresses = [pages, files].flatMap((base) =>
    text
      .split(base)
      .slice(1)
      .map((rest) => /^[\w./-]*[\w/-]/.exec(rest)?.[0] ?? ""),
  );
  const away = addresses.filter((path) => !existsSync(join(root, path)));
  if (!file.endsWith(".md")) return away.map((path) => `${file}: no ${path} in the repository`);
  const prose = text.replace(/^```[\s\S]*?^```/gm, "").replace(/`[^`\n]*`/g, "");
  const links = [...prose.matchAll(/\]\(([^)\s]+)\)|<(?:img|source)\b[^>]*?\bsrc(?:set)?="([^"]+)"/g)];
  const relative = links
    .map(([, link, picture]) => link ?? picture ?? "")
    .filter((link) => !/^(?:[a-z]+:|#)/.test(link));
  const here = relative.filter(
    (link) => !existsSync(join(unpacked, dirname(file), link.split("#")[0] ?? "")),
  );
  return [
    ...away.map((path) => `${file}: no ${path} in the repository`),
    ...here.map((link) => `${file}: no ${link} in the tarball`),
  ];
}
