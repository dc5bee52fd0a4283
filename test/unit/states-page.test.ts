import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAst } from "vite";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const page = read("docs/internals/states.md");

/** The sections of the page that list what changes in a class. */
const classes: readonly (readonly [name: string, file: string, section: string])[] = [
  ["ServerRecord", "src/threads/server-record.ts", "What Redis has of a stay"],
  ["Turns", "src/threads/turns.ts", "What Redis has of a stay"],
  ["Chain", "src/threads/chain.ts", "Hand-over"],
  ["Heir", "src/locks/hand-off.ts", "Hand-over"],
  ["Trust", "src/threads/trust.ts", "Trust of a hold"],
  ["HoldOf", "src/threads/hold.ts", "Trust of a hold"],
  ["Stay", "src/threads/stay.ts", "A stay"],
  ["RenewedStay", "src/threads/renewed-stay.ts", "A stay"],
  ["ConfirmableStay", "src/threads/confirmable-stay.ts", "A stay"],
  ["WaitLine", "src/runtime/wait-line.ts", "The line"],
  ["Waiter", "src/runtime/waiter.ts", "A waiter"],
  ["Wish", "src/locks/wish.ts", "A wish"],
  ["Acquisition", "src/locks/acquisition.ts", "One acquisition"],
  ["Attempt", "src/locks/attempt.ts", "One acquisition"],
  ["AcquireCommand", "src/locks/acquire-command.ts", "Commands of one call"],
  ["WaitInLine", "src/locks/wait-in-line.ts", "Commands of one call"],
  ["WaitInQueue", "src/locks/wait-in-queue.ts", "A place in a fair queue"],
  ["FairQueue", "src/runtime/fair-queue.ts", "A place in a fair queue"],
  ["Lowering", "src/locks/lowering.ts", "Commands of one call"],
  ["Reconciler", "src/locks/reconciler.ts", "Endings"],
];

/** The fields of a class that may be written again. */
function changing(file: string, name: string): readonly string[] {
  const declarations = parseAst(read(file), { lang: "ts" }).body.map((statement) =>
    "declaration" in statement && statement.declaration ? statement.declaration : statement,
  );
  const found = declarations.find(
    (node) => node.type === "ClassDeclaration" && "id" in node && node.id?.name === name,
  );
  if (found?.type !== "ClassDeclaration") throw new Error(`${file} has no class ${name}`);
  return found.body.body.flatMap((member) => {
    if (member.type !== "PropertyDefinition" || member.readonly) return [];
    if (member.key.type === "PrivateIdentifier") return [`#${member.key.name}`];
    return member.key.type === "Identifier" ? [member.key.name] : [];
  });
}

function section(title: string): string {
  const [, text] = page.split(`\n## ${title}\n`);
  return text?.split("\n## ")[0] ?? "";
}

/** The rows of the table of words, without the marks of code. */
function words(): readonly { readonly word: string; readonly where: string; readonly sentence: string }[] {
  const rows = section("Words").match(/^\| (?!Word|---).*$/gm) ?? [];
  return rows.map((row) => {
    const [, word = "", where = "", sentence = ""] = row.split("|").map((cell) => cell.trim());
    return { word: word.replaceAll("`", ""), where: where.replaceAll("`", ""), sentence };
  });
}

/** What the rows of a table name, by a text before it or by its heading. */
function rows(before: string): readonly string[] {
  const [table = ""] = (page.split(before)[1] ?? "")
    .split("\n\n")
    .filter((text) => /^\||\| --- \|/m.test(text));
  return [...table.matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name = ""]) => name);
}

/** What links name. */
function headings(): readonly string[] {
  return [...page.matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replace(/[^\w\s-]/g, "")
      .replaceAll(" ", "-"),
  );
}

function sources(): readonly string[] {
  return readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => read(`src/${file}`));
}

describe("the page of states", () => {
  it.each(classes)("lists each field of %s that changes", (name, file, title) => {
    const fields = changing(file, name);
    expect(fields).not.toEqual([]);
    const listed = section(title);
    expect(fields.filter((field) => !listed.includes(`\`${field}\``))).toEqual([]);
  });

  it("says how many these are", () => {
    const fields = classes.flatMap(([name, file]) => changing(file, name));
    expect(page).toContain(`These are ${fields.length} fields of ${classes.length} classes.`);
  });

  it("is linked from the code by headings that it has", () => {
    const links = sources().flatMap((source) => [
      ...source.matchAll(/docs\/internals\/states\.md#([\w-]+)/g),
    ]);
    const anchors = headings();
    expect(links.length).toBeGreaterThanOrEqual(20);
    expect(links.map(([, anchor]) => anchor).filter((anchor) => !anchors.includes(anchor ?? ""))).toEqual([]);
  });

  it("links headings that it has", () => {
    const links = [...page.matchAll(/\]\(#([\w-]+)\)/g)];
    const anchors = headings();
    expect(links.length).toBeGreaterThanOrEqual(15);
    expect(links.map(([, anchor]) => anchor).filter((anchor) => !anchors.includes(anchor ?? ""))).toEqual([]);
  });

  it("quotes titles of tests that there are", () => {
    const tests = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".test.ts"))
      .map((file) => read(`test/${file}`))
      .join("\n");
    const quoted = [...section("Interleavings").matchAll(/"([^"]+)"/g)].map(([, title = ""]) =>
      title.replace(/\s+/g, " "),
    );
    expect(quoted.length).toBeGreaterThan(20);
    expect(quoted.filter((title) => title !== "absent" && !tests.includes(title))).toEqual([]);
  });

  it("lists each invariant that the code asserts", () => {
    const asserted = sources().flatMap((source) => source.match(/^ +invariant\(/gm) ?? []);
    const listed = section("What is checked while it runs").match(/^\| (?!Invariant|---).*$/gm) ?? [];
    expect(asserted.length).toBeGreaterThan(0);
    expect(listed.length).toBe(asserted.length);
  });

  it("lists each answer of a script about locks", () => {
    const answers = [...read("src/protocol/lock-calls.ts").matchAll(/readonly status: ([^;]+?)(?:;| \})/g)];
    const names = answers.flatMap(([, union = ""]) => union.match(/(?<=")[\w-]+(?=")/g) ?? []);
    expect(names.length).toBeGreaterThan(20);
    expect([...new Set(names)].sort()).toEqual([...rows("What scripts answer")].sort());
  });

  it("lists each reason of a loss", () => {
    const [, union = ""] = /export type LossReason =([^;]+);/.exec(read("src/errors.ts")) ?? [];
    const reasons = union.match(/(?<=")[\w-]+(?=")/g) ?? [];
    expect(reasons.length).toBeGreaterThan(5);
    expect([...reasons].sort()).toEqual([...rows("| Reason of a loss |")].sort());
  });

  it("has no more words than a maintainer can learn", () => {
    const listed = words().map(({ word }) => word);
    expect(listed.length).toBeGreaterThan(20);
    expect(listed.length).toBeLessThanOrEqual(40);
    expect(listed).toEqual([...new Set(listed)]);
  });

  it("says in one sentence what each word is, with a name that the code has", () => {
    const code = sources().join("\n");
    expect(words().filter(({ where }) => !code.includes(where.split(".").at(-1) ?? where))).toEqual([]);
    expect(words().filter(({ where }) => where === "")).toEqual([]);
    expect(words().filter(({ sentence }) => !/^[A-Z][^.]*(\.\d[^.]*)?\.$/.test(sentence))).toEqual([]);
  });

  it("lists words that stand in more than one other section", () => {
    const sections = page.split("\n## ").filter((text) => !text.startsWith("Words\n"));
    const standsIn = (word: string) => sections.filter((text) => text.toLowerCase().includes(word)).length;
    expect(words().filter(({ word }) => standsIn(word.toLowerCase()) < 2)).toEqual([]);
  });
});
