import { join } from "node:path";
import { documentedApi, exportedForms } from "../../../scripts/declarations.mjs";
import { fileNameOf, specifierOf, subpaths } from "../../../scripts/subpaths.mjs";
import { root } from "../tidy/tree.js";

/** A method or function that programs call. */
export interface Callable {
  /** `Lock.tryLock`, or `runOnce`. */
  readonly name: string;
  /** The class or interface of a method. */
  readonly owner: string | undefined;
  /** Where a program imports the function or the owner from. */
  readonly specifier: string;
  /** The code behind `@example` in its docstring, or in the docstring of its first overload. */
  readonly example: string | undefined;
}

/** Types whose methods have no examples, and why: programs and other packages implement them. */
export const IMPLEMENTED: Readonly<Record<string, string>> = {
  Driver: "holdfast calls it, and a driver implements it",
  Clock: "holdfast calls it, and a clock implements it; the methods of FakeClock have examples",
  Timer: "a clock returns it to holdfast",
  ChannelListener: "holdfast passes it to a driver",
  ConformanceHarness: "the test of a driver implements it",
  RunCoordinator: "node-cron calls it",
  EventChannel: "a channel of Node's diagnostics_channel",
  TraceChannel: "a tracing channel of Node's diagnostics_channel",
  IoredisClient: "a client of ioredis",
  IoredisCluster: "a client of ioredis",
  IoredisConnection: "a client of ioredis",
  IoredisNode: "a client of ioredis",
  IoredisOwnClient: "a client of ioredis",
  IoredisScripts: "a client of ioredis",
  IoredisStream: "a socket of ioredis",
  NodeRedisClient: "a client of node-redis",
  NodeRedisCluster: "a client of node-redis",
  NodeRedisEvents: "a client of node-redis",
  NodeRedisOwnClient: "a client of node-redis",
  NodeRedisPool: "a client of node-redis",
  NodeRedisSentinel: "a client of node-redis",
  ValkeyGlideClient: "a client of Valkey GLIDE",
  ValkeyGlideClusterClient: "a client of Valkey GLIDE",
  ReleasingRedlock: "the methods of Redlock that its locks call",
  WatchedClient: "the methods of Holdfast that watchLocks calls",
  HoldfastOptions: "its functions are the program's",
  HoldfastInstrumentationConfig: "its functions are the program's",
  InspectorOptions: "its functions are the program's",
  PresenceOptions: "its functions are the program's",
  SingleFlightOptions: "its functions are the program's",
};

/** Methods that no program should call, and why. */
export const WITHOUT_USE: Readonly<Record<string, string>> = {
  "Redlock.disposer": "throws, and its error names the replacement",
};

/** All methods and functions of the public API whose owner is not in {@link IMPLEMENTED}, and the owners that are. */
export function publicCallables(): {
  readonly callables: readonly Callable[];
  readonly implemented: ReadonlySet<string>;
} {
  const callables = new Map<string, Callable>();
  const implemented = new Set<string>();
  for (const subpath of Object.keys(subpaths)) {
    const specifier = specifierOf(subpath);
    for (const { name, statements, docOf } of documentedApi(declarationsOf(subpath))) {
      for (const { method, node } of statements.flatMap(callablesOf)) {
        if (method !== undefined && name in IMPLEMENTED) {
          implemented.add(name);
          continue;
        }
        const full = method === undefined ? name : `${name}.${method}`;
        // A later overload, or another subpath.
        if (callables.has(full)) continue;
        const owner = method === undefined ? undefined : name;
        callables.set(full, { name: full, owner, specifier, example: exampleOf(docOf(node)) });
      }
    }
  }
  return { callables: [...callables.values()], implemented };
}

/** What a program can import from a subpath, except types. */
export function exportedNames(specifier: string): readonly string[] {
  const forms = exportedForms(declarationsOf(specifier.replace(/^holdfast/, ".")));
  return [...forms].filter(([, form]) => form !== "type").map(([name]) => name);
}

function declarationsOf(subpath: string): string {
  return join(root, `dist/esm/${fileNameOf(subpath)}.d.ts`);
}

interface Found {
  /** Undefined for a function. */
  readonly method?: string;
  /** The docstring stands before it. */
  readonly node: Node;
}

/** A node of the syntax of TypeScript, as far as it is read here. */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly declaration?: Node | null;
  readonly body?: { readonly body: readonly Node[] };
  readonly kind?: string;
  readonly key?: Node & { readonly name?: string; readonly property?: { readonly name: string } };
  readonly typeAnnotation?: Node;
}

function callablesOf(statement: Node): Found[] {
  const declared = statement.declaration ?? statement;
  if (declared.type.endsWith("Function") || declared.type === "FunctionDeclaration")
    return [{ node: statement }];
  return (declared.body?.body ?? []).flatMap((node) => {
    const method = node.key?.name ?? node.key?.property?.name;
    return method !== undefined && isCallable(node) ? [{ method, node }] : [];
  });
}

function isCallable({ type, kind, typeAnnotation }: Node): boolean {
  if (type === "TSPropertySignature")
    return (typeAnnotation?.typeAnnotation ?? typeAnnotation)?.type === "TSFunctionType";
  return /Method/.test(type) && kind === "method";
}

/** @param doc the inside of a comment */
export function exampleOf(doc: string | undefined): string | undefined {
  const text = doc?.replace(/^\*/, "").replace(/^[ \t]*\* ?/gm, "") ?? "";
  return /(?:^|\n)\s?@example\s+(.*?)\s*(?=\n@\w|$(?![\s\S]))/s.exec(text)?.[1];
}
