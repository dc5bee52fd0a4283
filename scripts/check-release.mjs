// @ts-check
/**
 * Whether the tree is what a tag says: run before anything is packed.
 *
 *   node scripts/check-release.mjs v0.1.0
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./tiers.mjs";

/**
 * @typedef {object} Release
 * @property {string} tag
 * @property {Readonly<Record<string, string>>} versions of the packages, by their names
 * @property {string} changelog
 * @property {readonly string[]} changesets files that no version has taken in yet
 */

/**
 * @param {Release} release
 * @returns {string[]} what is wrong
 */
export function releaseComplaints({ tag, versions, changelog, changesets }) {
  const others = Object.entries(versions).filter(([, version]) => `v${version}` !== tag);
  const version = tag.replace(/^v/, "");
  const headings = [...changelog.matchAll(/^## (.*)$/gm)].map(([, heading = ""]) => heading);
  return [
    ...others.map(([name, other]) => `the tag is ${tag}, and ${name} has the version ${other}`),
    ...(headings[0] === version
      ? []
      : [`CHANGELOG.md has to begin with "## ${version}", not with "## ${headings[0]}"`]),
    ...changesets.map((file) => `${file} is in no version: run npm run release:version`),
  ];
}

/** @returns {Omit<Release, "tag">} */
export function readRelease() {
  const folders = ["", ...readdirSync(join(root, "packages")).map((name) => `packages/${name}`)];
  const manifests = folders.map((folder) =>
    JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")),
  );
  return {
    versions: Object.fromEntries(manifests.map(({ name, version }) => [name, version])),
    changelog: readFileSync(join(root, "CHANGELOG.md"), "utf8"),
    changesets: readdirSync(join(root, ".changeset"))
      .filter((file) => file.endsWith(".md") && file !== "README.md")
      .map((file) => `.changeset/${file}`),
  };
}

function main() {
  const tag = process.argv[2];
  if (tag === undefined) {
    console.error("which tag? node scripts/check-release.mjs v0.1.0");
    process.exitCode = 2;
    return;
  }
  const complaints = releaseComplaints({ tag, ...readRelease() });
  for (const complaint of complaints) console.error(complaint);
  if (complaints.length > 0) process.exitCode = 1;
  else console.log(`${tag}: the tag, the packages and CHANGELOG.md agree`);
}

if (process.argv[1] === import.meta.filename) main();
