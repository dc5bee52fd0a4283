import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAst } from "vite";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const page = read("docs/internals/states.md");

/** The classes whose fields decide an acquisition or a release. */
const classes: readonly (readonly [name: string, file: string])[] = [
  ["ServerRecord", "src/threads/server-record.ts"],
  ["Turns", "src/threads/turns.ts"],
  ["Chain", "src/threads/chain.ts"],
  ["Heir", "src/locks/hand-off.ts"],
  ["Trust", "src/threads/trust.ts"],
  ["HoldOf", "src/threads/hold.ts"],
  ["Stay", "src/threads/stay.ts"],
  ["RenewedStay", "src/threads/renewed-stay.ts"],
  ["ConfirmableStay", "src/threads/confirmable-stay.ts"],
  ["WaitLine", "src/runtime/wait-line.ts"],
  ["Waiter", "src/runtime/waiter.ts"],
  ["Wish", "src/locks/wish.ts"],
  ["Acquisition", "src/locks/acquisition.ts"],
  ["Attempt", "src/locks/attempt.ts"],
  ["AcquireCommand", "src/locks/acquire-command.ts"],
  ["WaitInLine", "src/locks/wait-in-line.ts"],
  ["WaitInQueue", "src/locks/fair-lock.ts"],
  ["FairQueue", "src/runtime/fair-queue.ts"],
  ["Lowering", "src/locks/lowering.ts"],
  ["Reconciler", "src/locks/reconciler.ts"],
];

/** A field of a class that may be written again. It is explained by a comment above it, or above another field, which names it. */
interface Field {
  readonly name: string;
  readonly isExplained: boolean;
}

function changing(file: string, name: string): readonly Field[] {
  const text = read(file);
  const declarations = parseAst(text, { lang: "ts" }).body.map((statement) =>
    "declaration" in statement && statement.declaration ? statement.declaration : statement,
  );
  const found = declarations.find(
    (node) => node.type === "ClassDeclaration" && "id" in node && node.id?.name === name,
  );
  if (found?.type !== "ClassDeclaration") throw new Error(`${file} has no class ${name}`);
  const comments = found.body.body.map((member) =>
    member.type === "PropertyDefinition" ? commentAbove(text, member.start) : "",
  );
  return found.body.body.flatMap((member) => {
    if (member.type !== "PropertyDefinition" || member.readonly) return [];
    const fieldName = nameOf(member.key);
    if (fieldName === undefined) return [];
    const isCommented = commentAbove(text, member.start) !== "";
    const isNamed = comments.some((comment) => comment.includes(`\`${fieldName}\``));
    return [{ name: fieldName, isExplained: isCommented || isNamed }];
  });
}

function nameOf(key: { readonly type: string; readonly name?: unknown }): string | undefined {
  if (key.type === "PrivateIdentifier") return `#${key.name}`;
  return key.type === "Identifier" ? `${key.name}` : undefined;
}

function commentAbove(text: string, start: number): string {
  const before = text.slice(0, start).trimEnd();
  return before.endsWith("*/") ? before.slice(before.lastIndexOf("/**")) : "";
}

function section(title: string): string {
  const [, text] = page.split(`\n## ${title}\n`);
  return text?.split("\n## ")[0] ?? "";
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
  it.each(classes)("leaves each field of %s that changes to a comment in the class", (name, file) => {
    const fields = changing(file, name);
    expect(fields).not.toEqual([]);
    expect(fields.filter(({ isExplained }) => !isExplained)).toEqual([]);
  });

  it("says how many these are", () => {
    const fields = classes.flatMap(([name, file]) => changing(file, name));
    expect(page).toContain(`These are ${fields.length} properties of ${classes.length} classes`);
  });

  it("can be read as a whole", () => {
    expect(page.trimEnd().split("\n").length).toBeLessThanOrEqual(450);
    expect(page.split(/\s+/).length).toBeLessThanOrEqual(9_000);
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
    const calls = ["lock-calls", "force-unlock-scripts"].map((file) => read(`src/protocol/${file}.ts`));
    const answers = [...calls.join("\n").matchAll(/readonly status: ([^;]+?)(?:;| \})/g)];
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
});
