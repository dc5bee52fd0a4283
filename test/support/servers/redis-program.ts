import { execFileSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import type { PubSubFamily } from "../../../src/driver/driver.js";

/** The path of the server to test with: HOLDFAST_SERVER, else the first redis-server, else valkey-server, on PATH. */
export function findServer(): string {
  const chosen = process.env["HOLDFAST_SERVER"];
  if (chosen) {
    if (!isExecutable(chosen)) throw new Error(`HOLDFAST_SERVER=${chosen} is no program that can be run`);
    return chosen;
  }
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  for (const name of ["redis-server", "valkey-server"]) {
    for (const folder of folders) {
      const program = join(folder, name);
      if (isExecutable(program)) return program;
    }
  }
  throw new Error(
    "no redis-server and no valkey-server on PATH: run `npm test`, which says how to install one",
  );
}

let version: string | undefined;

/** "Redis 7.0.15", "Valkey 9.1.2": the server to test with, as it calls itself. */
export function serverVersion(): string {
  // "Redis server v=7.0.15 sha=…"
  version ??= execFileSync(findServer(), ["--version"], { encoding: "utf8" }).replace(
    /^(\w+) server v=(\S+).*$/s,
    "$1 $2",
  );
  return version;
}

/** Redis 6.2 has no sharded messages, and words its commands for clusters, its statistics and its errors otherwise. */
export function isBefore7(): boolean {
  return /^Redis [0-6]\./.test(serverVersion());
}

/** The embedded server answers as Redis 7.0 does; others word errors otherwise, and write and read numbers otherwise. */
export function isReference(): boolean {
  return serverVersion().startsWith("Redis 7.0.");
}

/** Why a test is skipped there. */
export const NO_SHARDED_MESSAGES = "Redis 6.2 has no sharded messages";

/** Those that the server has. */
export function messageFamilies(): readonly PubSubFamily[] {
  return isBefore7() ? ["classic"] : ["classic", "sharded"];
}

function isExecutable(program: string): boolean {
  try {
    accessSync(program, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
