import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { clientSettings } from "../../src/client-options.js";
import { events } from "../../src/events.js";
import * as api from "../../src/index.js";
import * as names from "../../src/protocol/names.js";
import { markPrefix } from "../../src/recipes/fires.js";
import { type MarkdownTable, markdownTables } from "../support/models/markdown-tables.js";

const root = join(import.meta.dirname, "../..");
const source = (path: string) => readFileSync(join(root, "src", path), "utf8");
const reference = (name: string) => markdownTables(readFileSync(join(root, "docs/reference", name), "utf8"));

/** The table of a page that has one. */
function tableOf(name: string): MarkdownTable {
  const [table, ...others] = reference(name);
  if (table === undefined || others.length > 0) throw new Error(`${name} must have one table`);
  return table;
}

/** A cell without its backticks. */
function code(cell: string | undefined): string {
  return /^`(.+)`$/.exec(cell ?? "")?.[1] ?? `not in backticks: ${cell}`;
}

/** The properties of an interface, by the text of its source. */
function propertiesOf(file: string, interfaceName: string): string[] {
  const body = new RegExp(
    `export interface ${interfaceName}(?: extends \\w+)? \\{\\n([\\s\\S]*?)\\n\\}`,
  ).exec(source(file))?.[1];
  if (body === undefined) throw new Error(`${file} has no interface ${interfaceName}`);
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??:/gm)].map(([, name = ""]) => name);
}

describe("docs/reference", () => {
  test("errors.md lists each code with its class, and no other", () => {
    const classes = [
      ...source("errors.ts").matchAll(/class (\w+) extends HoldfastError[\s\S]*?code = "(\w+)"/g),
    ];
    const inCode = classes.map(([, name, errorCode]) => [errorCode, name]);
    const [table] = reference("errors.md");
    const listed = (table?.rows ?? []).map(([errorCode, name]) => [code(errorCode), code(name)]);
    expect(inCode.length).toBeGreaterThanOrEqual(8);
    expect(listed.sort()).toEqual(inCode.sort());
  });

  test("errors.md lists each error that the package exports, and what to answer over HTTP to each that a call rejects with", () => {
    const exported = Object.entries(api).filter(
      ([, value]) => Object.create((value as { prototype?: object }).prototype ?? null) instanceof Error,
    );
    const names = exported.map(([name]) => name).filter((name) => name !== "HoldfastError");
    const [codes, http, drivers] = reference("errors.md").map(({ rows }) => rows);
    const own = (codes ?? []).map(([, name]) => code(name));
    const driverErrors = (drivers ?? []).map(([name]) => code(name));
    expect([...own, ...driverErrors].sort()).toEqual(names.sort());
    const answered = (http ?? []).map(([what]) => what).join(" ");
    for (const name of own) expect(answered).toContain(`\`${name}\``);
  });

  test("events.md lists each outcome of an acquisition, and no other", () => {
    const inCode = /outcome\?: ([^;]+);/.exec(source("events.ts"))?.[1]?.split(" | ");
    const outcomes = reference("events.md")[0]?.rows.map(([outcome]) => `"${code(outcome)}"`);
    expect(outcomes?.sort()).toEqual(inCode?.sort());
  });

  test("events.md lists each way in which a wait ends, and no other", () => {
    const inCode = /type WaitEnd =([^;]+);/.exec(source("events.ts"))?.[1]?.match(/"[^"]+"/g);
    const listed = reference("events.md")[2]?.rows.map(([via]) => `"${code(via)}"`);
    expect(listed?.sort()).toEqual(inCode?.sort());
  });

  test("events.md lists each property of each payload where it lists the channel", () => {
    const payloads = [
      ...source("events.ts").matchAll(
        /export interface (\w+)Event extends (AboutLock|AboutHold|AboutClient) \{([\s\S]*?)\n\}/g,
      ),
    ];
    const inherited = { AboutClient: "", AboutLock: "name kind", AboutHold: "name kind holder" };
    const rows = reference("events.md")[1]?.rows ?? [];
    for (const [, name = "", base = "AboutClient", body = ""] of payloads) {
      const property = name.charAt(0).toLowerCase() + name.slice(1);
      const row = rows.find(([, each]) => code(each) === property)?.join(" ");
      const properties = [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??:/gm)].map(([, each]) => each);
      const inCode = [...(inherited[base as keyof typeof inherited].match(/\w+/g) ?? []), ...properties];
      if (name !== "Client") expect(inCode.filter((each) => !row?.includes(`\`${each}\``))).toEqual([]);
    }
    expect(payloads.length).toBeGreaterThanOrEqual(13);
  });

  test("events.md lists each channel with its name in events, and no other", () => {
    const nameOf = (channel: (typeof events)[keyof typeof events]) =>
      "name" in channel ? channel.name : /^tracing:(.*):start$/.exec(String(channel.start.name))?.[1];
    const inCode = Object.entries(events).map(([property, channel]) => [nameOf(channel), property]);
    const listed = (reference("events.md")[1]?.rows ?? []).map(([channel, property]) => [
      code(channel),
      code(property),
    ]);
    expect(listed.sort()).toEqual(inCode.sort());
  });

  const interfaces = [
    ["HoldfastOptions", "client-options.ts"],
    ["AroundHold", "client-options.ts"],
    ["ReplicaOptions", "client-options.ts"],
    ["HandOffOptions", "client-options.ts"],
    ["PresenceOptions", "presence/presence-options.ts"],
    ["FleetOptions", "presence/presence-options.ts"],
    ["LockOptions", "options.ts"],
    ["UnlockOptions", "options.ts"],
    ["WaitOptions", "options.ts"],
    ["PermitOptions", "options.ts"],
    ["SemaphoreSettings", "options.ts"],
    ["LockSettings", "options.ts"],
    ["SpinLockSettings", "options.ts"],
    ["ExponentialBackoff", "backoff-options.ts"],
    ["ConstantBackoff", "backoff-options.ts"],
    ["ReadWriteLockSettings", "options.ts"],
    ["FindLocksOptions", "finding/finding-options.ts"],
    ["ForceReleaseOptions", "synchronizers/seen-semaphore.ts"],
    ["PingOptions", "ping.ts"],
    ["CloseOptions", "close-options.ts"],
  ] as const;

  test.each(interfaces)("options.md lists each option of %s, and no other", (name, file) => {
    const listed = reference("options.md").find(({ heading }) => heading === name)?.rows;
    expect(listed?.map(([option]) => code(option)).sort()).toEqual(propertiesOf(file, name).sort());
  });

  test("options.md has a heading with a table for each interface of options that the package exports, and no other", () => {
    const exported = source("index.ts").match(/\b\w+(?:Options|Settings)\b/g) ?? [];
    const partsOfOptions = ["AroundHold", "ExponentialBackoff", "ConstantBackoff"];
    expect([...exported, ...partsOfOptions].sort()).toEqual(interfaces.map(([name]) => name).sort());
    expect(reference("options.md").map(({ heading }) => heading)).toEqual(interfaces.map(([name]) => name));
  });

  test("options.md tells the defaults that the code has", () => {
    const rows = reference("options.md").find(({ heading }) => heading === "HoldfastOptions")?.rows ?? [];
    const told = new Map(rows.map(([option, inWords]) => [code(option), inWords]));
    const defaults = Object.entries(clientSettings({})).filter(
      ([, value]) => typeof value === "number" || typeof value === "string",
    );
    for (const [option, value] of defaults) {
      const inWords =
        typeof value === "number" ? String(value).replace(/\B(?=(\d{3})+$)/g, " ") : `\`"${value}"\``;
      expect([option, told.get(option)]).toEqual([option, inWords]);
    }
  });

  test("keys.md lists each key and channel, for names without and with a brace, and no other", () => {
    // What a field of a lock's hash is called is no key.
    const ofOne = Object.entries(names).filter(
      ([name, { length }]) => length === 1 && !name.endsWith("Field"),
    );
    const derived = [...(ofOne.map(([, derive]) => derive) as ((raw: string) => string)[]), markPrefix];
    const braced = "{r}aw";
    const inCode = derived.map((derive) => [derive("raw"), derive(braced).replace(braced, "raw")]);
    const listed = tableOf("keys.md").rows.map(([plain, withBrace]) => [code(plain), code(withBrace)]);
    expect(derived.length).toBeGreaterThanOrEqual(3);
    expect(listed.sort()).toEqual([["raw", "raw"], ...inCode].sort());
  });
});
