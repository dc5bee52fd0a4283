import { execFile } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../tidy/tree.js";
import type { CodeBlock } from "./code-blocks.js";

const IMPORT = /^import\s+(?:(?<names>[^;]*?)\s+from\s+)?"(?<module>[^"]+)";(?: \/\/.*)?$/gm;
const DECLARATIONS = join(root, "src/memory/fengari.d.ts");
const COMPILER = join(root, "node_modules/typescript/bin/tsc");

/** What the compiler is told besides the blocks. */
export interface Setting {
  readonly tsconfig: string;
  /** Declares what pages leave out. */
  readonly names: string;
}

const SETTING: Setting = {
  tsconfig: join(import.meta.dirname, "tsconfig.json"),
  names: join(import.meta.dirname, "names.ts"),
};

/** A parameter without a type: JavaScript has no other. */
const UNTYPED_PARAMETER = /error TS7006:/;

/**
 * What the compiler says of the blocks, by line of their documents. The blocks of a page are nested functions of one module: each sees
 * what those before it declare, and may declare it anew.
 */
export async function typeErrors(
  blocks: readonly CodeBlock[],
  folder: string,
  { tsconfig, names }: Setting = SETTING,
): Promise<string[]> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const paths = [...new Set(blocks.map(({ path }) => path))];
  const pages = paths.map((path) => blocks.filter((block) => block.path === path));
  const places = new Map<string, readonly string[]>();
  for (const [nth, page] of pages.entries()) {
    const { text, lines } = moduleOf(page);
    writeFileSync(join(folder, `page-${nth}.ts`), text);
    places.set(`page-${nth}.ts`, lines);
  }
  const config = {
    extends: tsconfig,
    include: ["*.ts", names, DECLARATIONS],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const output = await compile(folder);
  return output.split("\n").flatMap((complaint) => {
    if (complaint === "" || complaint.startsWith(" ")) return [];
    const [, file = "", line = "", message = ""] = /([\w.-]+)\((\d+),\d+\): (.*)$/.exec(complaint) ?? [];
    const place = places.get(file)?.[Number(line) - 1];
    if (place?.endsWith(" js") && UNTYPED_PARAMETER.test(complaint)) return [];
    return [place === undefined ? complaint : `${place}: ${message}`];
  });
}

/** The module, and for each of its lines where it is from. */
function moduleOf(blocks: readonly CodeBlock[]): { text: string; lines: readonly string[] } {
  const imports = new Set<string>();
  const body: string[] = [];
  const places: string[] = [];
  for (const { path, line, language, code, parameters = "" } of blocks) {
    const { imported, rest } = importsOf(code);
    for (const { statement } of imported) imports.add(statement);
    const lines = rest.trimEnd().split("\n");
    body.push(`void (async (${parameters}) => { {`, ...lines);
    places.push("", ...lines.map((_, nth) => `${path}:${line + nth} ${language}`));
  }
  const head = [...imports, "export {};"];
  const text = [...head, ...body, ...blocks.map(() => "} });"), ""].join("\n");
  return { text, lines: [...head.map(() => ""), ...places] };
}

/** A name that code imports. */
export interface Imported {
  readonly name: string;
  /** Imports this name alone, since two blocks of a page may import the same. */
  readonly statement: string;
}

/** What code imports, and the rest of it, line by line. */
export function importsOf(code: string): { imported: readonly Imported[]; rest: string } {
  const imported = [...code.matchAll(IMPORT)].flatMap(({ groups = {} }) =>
    singleImports(groups["names"], groups["module"]),
  );
  return { imported, rest: code.replace(IMPORT, (statement) => statement.replace(/[^\n]/g, "")) };
}

function singleImports(names: string | undefined, module = ""): Imported[] {
  if (names === undefined) return [{ name: "", statement: `import "${module}";` }];
  const [, first = "", braces = ""] = /^([^{]*?),?\s*(?:\{(.*)\})?$/s.exec(names) ?? [];
  const named = braces
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  return [
    ...(first === "" ? [] : [{ name: first, statement: `import ${first} from "${module}";` }]),
    ...named.map((name) => ({ name, statement: `import { ${name} } from "${module}";` })),
  ];
}

function compile(folder: string): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, [COMPILER, "--pretty", "false", "-p", folder], (_error, stdout, stderr) =>
      resolve(`${stdout}${stderr}`),
    );
  });
}
