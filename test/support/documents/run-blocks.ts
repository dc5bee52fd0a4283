import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { parseSync } from "vite";
import { read } from "../tidy/tree.js";
import type { CodeBlock } from "./code-blocks.js";
import { importsOf } from "./type-check.js";
import type { Values } from "./values.js";

/** A block of code that can be run, once with each set of values. */
export interface RunnableBlock {
  readonly block: CodeBlock;
  /** Whether the block uses one of these names. */
  uses(names: Iterable<string>): boolean;
  /**
   * Runs the block as the body of a function.
   * @returns its declarations; none if the block returned before its end
   * @throws what the block throws; an Error if an expression has another value than the comment behind it tells
   */
  run(values: Values): Promise<Values>;
}

type Run = (values: Values, keep: (declared: Values) => void, told: Told) => Promise<unknown>;
type Told = (value: unknown, expected: unknown) => void;

/** `lease.state; // "lost"`: an expression, and its value. */
const VALUE_TOLD =
  /^(?<indent>\s*)(?!(?:const|let|if|for|return|throw|console)\b)(?<code>\S.*); +\/\/ (?<value>true|false|null|"\w+"|\d+)(?:[:;,].*)?$/gm;

/**
 * Makes a module in which each block is a function. It gets the names that it uses, also those that it imports, from the values
 * and from the blocks before it.
 *
 * @param file of the module
 * @param given the names of the values
 */
export async function runnableBlocks(
  blocks: readonly CodeBlock[],
  file: string,
  given: readonly string[],
): Promise<readonly RunnableBlock[]> {
  const known = new Set(given);
  const imports = new Set<string>();
  const functions = blocks.map(({ code }, nth) => {
    const { imported, rest } = importsOf(code);
    const others = imported.filter(({ name }) => !given.includes(name));
    for (const { statement } of others) imports.add(statement);
    const wanted = [...known].filter(
      (name) => uses(rest, name) && !others.some((other) => other.name === name),
    );
    const declared = namesDeclared(rest);
    for (const name of declared) known.add(name);
    const text = rest.replace(VALUE_TOLD, "$<indent>told($<code>, $<value>);");
    return `export const block${nth} = async ({ ${wanted.join(", ")} }: any, keep: any, told: any) => { {\n${text}\nkeep({ ${declared.join(", ")} });\n} };\n`;
  });
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, [...imports, ...functions].join("\n"));
  const made: Readonly<Record<string, Run>> = await import(file);
  return blocks.map((block, nth) => ({
    block,
    uses: (names) => [...names].some((name) => uses(block.code, name)),
    async run(values) {
      let kept: Values = {};
      const keep = (declared: Values) => {
        kept = declared;
      };
      await made[`block${nth}`]?.(values, keep, checkTold);
      return kept;
    },
  }));
}

function checkTold(value: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(value, expected))
    throw new Error(
      `the comment tells ${JSON.stringify(expected)}, but the value is ${JSON.stringify(value)}`,
    );
}

/** Also true if the name is only that of a property: an unneeded value does no harm. */
function uses(code: string, name: string): boolean {
  return new RegExp(`(?<![\\w$])${name}(?![\\w$])`).test(code);
}

/** The syntax of code, as far as it is read here. */
interface Syntax {
  readonly type: string;
  readonly name?: string;
  readonly id?: Syntax | null;
  readonly body?: { readonly body: readonly Syntax[] };
  readonly expression?: Syntax;
  readonly declarations?: readonly Syntax[];
  readonly properties?: readonly Syntax[];
  readonly elements?: readonly (Syntax | null)[];
  /** The inside of a property, of a rest element, and of a pattern with a default. */
  readonly value?: Syntax;
  readonly argument?: Syntax;
  readonly left?: Syntax;
}

/** The names that code declares at its top level, except types. */
function namesDeclared(code: string): readonly string[] {
  const { program } = parseSync("block.ts", `async () => {\n${code}\n};`);
  const [wrapped] = program.body as unknown as readonly Syntax[];
  return namesDeclaredBy(wrapped?.expression?.body?.body ?? []);
}

/** The names of `names.ts`, except types. */
export function readersNames(): readonly string[] {
  const { program } = parseSync("names.ts", read("test/support/documents/names.ts"));
  const statements = program.body as unknown as readonly Syntax[];
  return namesDeclaredBy(statements.flatMap(({ body }) => body?.body ?? []));
}

function namesDeclaredBy(statements: readonly Syntax[]): readonly string[] {
  return statements.flatMap(({ type, id, declarations = [] }) => {
    const declared = id && (type === "TSDeclareFunction" || !type.startsWith("TS")) ? [id] : [];
    return [...declared, ...declarations.flatMap((variable) => variable.id ?? [])].flatMap(namesIn);
  });
}

function namesIn({ name, properties = [], elements = [], value, argument, left }: Syntax): readonly string[] {
  if (name !== undefined) return [name];
  return [...properties, ...elements, value, argument, left].flatMap((part) => (part ? namesIn(part) : []));
}
