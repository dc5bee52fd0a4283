// @ts-check
/**
 * Builds the JVM that proves us against Redisson (interop/), with the releases of Redisson that are asked for. Needs
 * Maven, which fetches what is missing, and a JDK from 17 on.
 *
 *   node scripts/redisson.mjs            the newest release
 *   node scripts/redisson.mjs --all      all of them
 *   node scripts/redisson.mjs --if-possible   says so and stops without an error where it can not
 *
 *   HOLDFAST_NO_INSTALL=1   builds and fetches nothing
 */
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { mustRun, runCommand } from "./run-command.mjs";

const folder = fileURLToPath(new URL("../interop", import.meta.url));
const target = join(folder, "target");
const sources = join(folder, "src/main/java/holdfast/interop");
const stamp = join(target, "classes.sha1");

const OLDEST_JAVA = 17;
/** How Maven says that there is no way to the repository, now or when it last tried. */
const UNREACHABLE = /could not transfer|failed to transfer|in offline mode/i;

/** One of each age of Redisson's protocol, the newest last. */
export const releases = ["3.24.3", "3.44.0", "3.52.0", "4.3.1", "4.7.0"];
export const newest = releases[releases.length - 1] ?? "";

/**
 * True when tests can run with a release.
 * @param {string} release
 */
export function isBuilt(release) {
  return isCompiled() && existsSync(placeOf(release));
}

/**
 * @param {readonly string[]} wanted
 * @returns {Promise<string | undefined>} why it can not be done here
 * @throws what Maven says, when it can be done and fails
 */
export async function buildRedisson(wanted) {
  if (wanted.every(isBuilt)) return undefined;
  const obstacle =
    process.env["HOLDFAST_NO_INSTALL"] === "1" ? "HOLDFAST_NO_INSTALL is set" : await missingTool();
  if (obstacle !== undefined) return obstacle;
  if (!isCompiled()) {
    // Of another pom.xml, maybe: nothing there is of use any more.
    rmSync(target, { recursive: true, force: true });
    const failure = await maven("compile");
    if (failure !== undefined) return failure;
    writeFileSync(stamp, digest());
  }
  for (const release of wanted) {
    const failure = existsSync(placeOf(release)) ? undefined : await fetchRelease(release);
    if (failure !== undefined) return failure;
  }
  return undefined;
}

/** @param {string} release */
async function fetchRelease(release) {
  // A half-filled folder must not pass for a whole one, nor two runs fill the same.
  const unfinished = mkdtempSync(join(target, "next-"));
  try {
    const failure = await maven(
      "dependency:copy-dependencies",
      "-DincludeScope=runtime",
      `-Dredisson.version=${release}`,
      `-DoutputDirectory=${unfinished}`,
    );
    if (failure !== undefined) return failure;
    try {
      renameSync(unfinished, placeOf(release));
    } catch (error) {
      if (!existsSync(placeOf(release))) throw error;
    }
    return undefined;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/** Maven's own words on what it runs with. */
async function missingTool() {
  /** @type {string} */
  let words;
  try {
    words = await mustRun("mvn", ["-version", "-B"]);
  } catch {
    return "there is no Maven (mvn) on PATH";
  }
  const [, version = "none", , runtime = ""] = /Java version: (\d+)(.*runtime: (.*))?/.exec(words) ?? [];
  if (!(Number(version) >= OLDEST_JAVA))
    return `Maven runs on Java ${version}, not on ${OLDEST_JAVA} or later`;
  const compilers = ["javac", "javac.exe"].map((name) => join(runtime, "bin", name));
  return compilers.some(existsSync) ? undefined : `there is no Java compiler in ${runtime}`;
}

/**
 * @param {readonly string[]} args
 * @returns {Promise<string | undefined>} why it can not be done here
 */
async function maven(...args) {
  mkdirSync(target, { recursive: true });
  const command = ["-q", "-B", "-f", join(folder, "pom.xml"), ...args];
  const { ok, output } = await runCommand("mvn", command, { quiet: true });
  if (ok) return undefined;
  if (UNREACHABLE.test(output)) return "Maven does not reach what it has to fetch";
  throw new Error(`mvn ${command.join(" ")} failed:\n${output}`);
}

function isCompiled() {
  return existsSync(stamp) && readFileSync(stamp, "utf8") === digest();
}

/** @param {string} release */
function placeOf(release) {
  return join(target, `redisson-${release}`);
}

function digest() {
  const hash = createHash("sha1").update(readFileSync(join(folder, "pom.xml")));
  for (const file of readdirSync(sources).sort()) hash.update(file).update(readFileSync(join(sources, file)));
  return hash.digest("hex");
}

/**
 * What a run is to do that could not be prepared.
 *
 * @param {string} obstacle
 */
export function leaveOut(obstacle) {
  const line = `The tests against Redisson are left out: ${obstacle}.`;
  if (process.argv.includes("--if-possible")) {
    console.log(line);
  } else {
    console.error(line);
    process.exitCode = 1;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const obstacle = await buildRedisson(process.argv.includes("--all") ? releases : [newest]);
  if (obstacle !== undefined) leaveOut(obstacle);
}
