import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { Choices } from "../chooser/chooser.js";
import type { Rule } from "../outcome.js";

/** A schedule that broke a promise, in full: it can be played again without its seed. */
export interface Failure {
  readonly rule: Rule;
  readonly text: string;
  readonly seed: number;
  /** The version of the package that it was found in. */
  readonly release: string;
  readonly only?: readonly string[];
  readonly choices: Choices;
}

const here = fileURLToPath(new URL("../../../", import.meta.url));
/** Of the repository, whether this file is compiled or not. */
const root = here.replace(/build[\\/]simulation[\\/]$/, "");
const folder = join(root, "build", "simulation", "failures");
const histories = join(root, "test", "simulation", "histories");

/** The files of what broke a promise once, and was mended. */
export function keptHistories(): readonly string[] {
  const files = readdirSync(histories).filter((file) => file.endsWith(".json"));
  return files.sort().map((file) => join(histories, file));
}

export function packageVersion(): string {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  return manifest.version;
}

/** What went wrong, without whom it hit: two failures with the same gist are likely to have the same cause. */
export function gist({ rule, text }: Pick<Failure, "rule" | "text">): string {
  const clause = firstLine(text).split(": ").at(-1) ?? "";
  return `${rule}: ${clause.replaceAll(/"[^"]*"|\b[a-z]+\d+(?:\.\d+)?\b|\d+/g, "…")}`;
}

/** The lines that follow name places of the machine that it was found on. */
function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}

/** @returns where it is kept, relative to where the reader stands */
export function keepFailure(failure: Failure, into: string = folder): string {
  mkdirSync(into, { recursive: true });
  const file = join(into, `${failure.rule}-${failure.seed}.json`);
  writeFileSync(file, failureText(failure));
  return relative(process.cwd(), file);
}

/** JSON with a line for each stream, so that a person finds their way in it. */
export function failureText({ choices, ...rest }: Failure): string {
  const head = { ...rest, text: firstLine(rest.text) };
  const streams = Object.entries(choices).map(
    ([name, numbers]) => `    ${JSON.stringify(name)}: ${JSON.stringify(numbers)}`,
  );
  const lines = Object.entries(head).map(([key, value]) => `  "${key}": ${JSON.stringify(value)},\n`);
  return `{\n${lines.join("")}  "choices": {\n${streams.join(",\n")}\n  }\n}\n`;
}

/** @throws Error that says what is wrong with the file */
export function readFailure(file: string): Failure {
  const wrong = (what: string) => new Error(`${file} is no kept schedule: ${what}`);
  let value: Partial<Failure> | null;
  try {
    value = JSON.parse(readFileSync(file, "utf8")) as Partial<Failure> | null;
  } catch (error) {
    throw wrong((error as Error).message);
  }
  if (typeof value !== "object" || value === null) throw wrong("it holds no object");
  const { rule, choices, only } = value;
  if (typeof rule !== "string") throw wrong('its "rule" is missing');
  if (typeof choices !== "object" || choices === null) throw wrong('its "choices" are missing');
  if (only !== undefined && !(Array.isArray(only) && only.every((kind) => typeof kind === "string"))) {
    throw wrong('its "only" is no list of kinds');
  }
  for (const [name, numbers] of Object.entries(choices)) {
    const isSound =
      Array.isArray(numbers) && numbers.every((number) => Number.isSafeInteger(number) && number >= 0);
    if (!isSound) throw wrong(`the choices of "${name}" are no list of whole numbers from 0`);
  }
  return { text: "", seed: 0, release: "", ...value, rule, choices };
}
