import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../variant.js";
import { luaMutants } from "./lua-mutants.js";
import type { Mutant } from "./mutant.js";
import { scriptMutants } from "./script-mutants.js";

/** The files that decide about grants, trust, hand-over and what Redis has. */
const DECIDING: Readonly<Record<string, readonly string[]>> = {
  "src/threads": [
    "trust",
    "changeable-trust",
    "terms",
    "stay",
    "server-record",
    "turns",
    "chain",
    "hold",
    "confirmable-stay",
    "renewed-stay",
    "doubts",
    "permit-holds",
    "occupancy",
  ],
  "src/locks": [
    "acquisition",
    "attempt",
    "acquire-command",
    "refusal",
    "entrance",
    "enter",
    "release",
    "lowering",
    "clean-up",
    "grant",
    "keep",
    "extend",
    "hand-off",
    "naming",
    "reconciler",
    "own-release",
    "wait-in-line",
    "fair-lock",
    "leave-queue",
    "take-together",
    "joint-hold",
    "red-lock",
    "red-round",
    "retake",
    "claim",
  ],
  "src/runtime": [
    "deadline",
    "server-clocks",
    "watchdog",
    "confirmations",
    "groups",
    "commands",
    "sender",
    "requests",
    "fair-queue",
    "fair-queues",
    "wait-line",
    "wait-lines",
    "ear",
    "line-ears",
    "line-alarm",
    "own-message",
  ],
  "src/synchronizers": [
    "call-in-line",
    "acquire-permits",
    "permit-command",
    "saving-turns",
    "leased-permits",
    "semaphore",
    "permit-expirable-semaphore",
    "count",
    "count-down-latch",
    "release-permits",
  ],
};

const SCRIPTS = "src/protocol/scripts";
/** They only look. */
const ASKING = new Set([
  "lock-inspect.lua",
  "lock-inspect-many.lua",
  "find-channels.lua",
  "find-hashes.lua",
  "server-probe.lua",
  "count-look.lua",
  "permit-look.lua",
]);

export function decidingFiles(): readonly string[] {
  const sources = Object.entries(DECIDING).flatMap(([folder, names]) =>
    names.map((name) => `${folder}/${name}.ts`),
  );
  return [...sources, ...luaFiles()];
}

function luaFiles(): readonly string[] {
  const files = readdirSync(join(root, SCRIPTS), { recursive: true, encoding: "utf8" });
  return files
    .filter((file) => file.endsWith(".lua") && !ASKING.has(file))
    .sort()
    .map((file) => `${SCRIPTS}/${file}`);
}

/** All one-token mutants of a file, as it is on disk. */
export function mutantsOfFile(file: string): readonly Mutant[] {
  const source = readFileSync(join(root, file), "utf8");
  return file.endsWith(".lua") ? luaMutants(file, source) : scriptMutants(file, source);
}

export function allMutants(): readonly Mutant[] {
  return decidingFiles().flatMap(mutantsOfFile);
}
