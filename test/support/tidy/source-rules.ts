import { basename } from "node:path";
import { complain, type TidyRule } from "./rule.js";

const isSource = (path: string) => path.startsWith("src/") && path.endsWith(".ts");
const isCode = (path: string) => /\.(?:ts|mjs|lua)$/.test(path);

function withoutComments(text: string): string {
  const blank = (comment: string) => comment.replace(/[^\n]/g, " ");
  return text.replace(/\/\*[\s\S]*?\*\//g, blank).replace(/(?<![:"'`\w])\/\/.*$/gm, blank);
}

const readsInjectedClock: TidyRule = {
  promise: "time is read and waited for through the injected clock, in whatever way the platform offers it",
  applies: (path) => isSource(path) && path !== "src/clock.ts",
  problems: (text) =>
    complain(
      withoutComments(text),
      /\b(?:AbortSignal\.timeout|process\.(?:hrtime|uptime)|node:timers\S*|node:perf_hooks)\b/g,
      "use the Clock",
    ),
  offences: [
    "const signal = AbortSignal.timeout(5);",
    "const now = process.hrtime.bigint();",
    'const { setTimeout: sleep } = process.getBuiltinModule("node:timers/promises");',
  ].map((text) => ({ path: "src/runtime/example.ts", text })),
};

/** They speak to servers that no simulation has. */
const ADAPTER = /^src\/driver\/(?:conformance\/|ioredis\/|moves\.ts$|node-redis\/|valkey-glide\/)/;

const knowsOtherRealms: TidyRule = {
  promise:
    "what a caller gives is known by what it can do: in a sandbox of Jest, or from jsdom, it is of another realm's class",
  applies: isSource,
  problems: (text, path) => [
    ...complain(
      withoutComments(text),
      /\binstanceof (?:Abort(?:Controller|Signal)|Array|Buffer|Date|Error|EventTarget|Function|Map|Promise|RegExp|Re(?:quest|sponse)|Set|Uint8Array|URL)\b/g,
      "ask for what it can do, or isNativeError",
    ),
    ...(path === "src/runtime/abort-signals.ts"
      ? []
      : complain(
          withoutComments(text),
          /\bthrowIfAborted\b|\bsignal\??\.reason\b/g,
          "use reasonOf, which all signals have",
        )),
  ],
  offences: [
    "if (signal instanceof AbortSignal) return;",
    "const text = error instanceof Error ? error.message : String(error);",
    "signal?.throwIfAborted();",
    "throw options.signal.reason;",
  ].map((text) => ({ path: "src/runtime/example.ts", text })),
};

const asksTheEnvironment: TidyRule = {
  promise: "chance, the collection of garbage and warnings come from src/environment.ts",
  applies: (path) => isSource(path) && path !== "src/environment.ts" && !ADAPTER.test(path),
  problems: (text) =>
    complain(
      withoutComments(text),
      /\b(?:Math\.random|random(?:Bytes|Fill(?:Sync)?|Int|UUID)|getRandomValues|FinalizationRegistry|WeakRef|emitWarning)\b/g,
      "use the environment",
    ),
  offences: [
    "const pauseMs = Math.random() * 20;",
    'import { randomUUID } from "node:crypto";',
    "const id = randomBytes(16);",
    "const ref = new WeakRef(lease);",
    "const registry = new FinalizationRegistry(told);",
    'process.emitWarning("slow");',
  ].map((text) => ({ path: "src/runtime/example.ts", text })),
};

/** The last word of a number's name, where it says that the number is a stretch or a point of time. */
const TIME_NAME =
  /\b(\w*?(?:age|backoff|deadline|delay|due|duration|elapsed|expiry|grace|interval|lease|margin|period|skew|time|timeout|ttl|until|wait|window))\??: (?:readonly )?number\b/gi;

/** Has the settings of redlock, by their names there. */
const OF_REDLOCK = "src/redlock/settings.ts";

const namesUnits: TidyRule = {
  promise: "a number of milliseconds has the unit last in its name",
  applies: (path) => isSource(path) && path !== OF_REDLOCK,
  problems: (text) => complain(withoutComments(text), TIME_NAME, "end the name in Ms"),
  offences: [
    "export interface LockOptions {\n  readonly lease?: number;\n}\n",
    "function renew(holder: string, safetyPeriod: number): void {}\n",
    "let retryDelay: number;\n",
  ].map((text) => ({ path: "src/options.ts", text })),
};

const importsAtTheTop: TidyRule = {
  promise: "types are imported by import declarations, which the rules on import directions see",
  applies: isSource,
  problems: (text) =>
    complain(withoutComments(text), /(?<!await )\bimport\(/g, "use an import declaration, or await import()"),
  offences: [
    { path: "src/runtime/example.ts", text: 'type Lock = import("../locks/reentrant-lock.js").Lock;\n' },
  ],
};

const sharesListeners: TidyRule = {
  promise:
    "drivers listen to the clients of callers by src/driver/shared-listeners.ts: one listener for each event, however many drivers",
  applies: (path) =>
    /^src\/driver\/[\w-]+\//.test(path) && !/\/(?:own|conformance)\/|\/connections\.ts$/.test(path),
  problems: (text) =>
    complain(withoutComments(text), /\.(?:on|once|addListener|prependListener)\((?=["\w])/g, "use listen"),
  offences: ['redis.on("ready", this.#onReady);', "cluster.once(errorMonitor, told);"].map((text) => ({
    path: "src/driver/ioredis/server.ts",
    text,
  })),
};

const namesWhatItDoes: TidyRule = {
  promise: "a file or folder is named after what it does",
  applies: isCode,
  problems: (_, path) =>
    complain(path, /(?<=^|[/-])(?:common|helpers?|misc|utils?)(?=$|[/.-])/g, "name what it does"),
  offences: ["src/common/a.ts", "src/utils.ts", "test/support/helpers.ts", "src/lock-util.ts"].map(
    (path) => ({
      path,
      text: "",
    }),
  ),
};

const todoHasIssue: TidyRule = {
  promise: "a note of open work names its issue, as in TODO(#12)",
  applies: (path) => basename(path) !== "package-lock.json",
  problems: (text) => complain(text, /\b(?:TODO|FIXME|XXX)\b(?!\(#\d+\))/g, "name the issue"),
  offences: [
    { path: "src/a.ts", text: "// TODO: later\n" },
    { path: "docs/a.md", text: "FIXME(somebody)\n" },
  ],
};

export const sourceRules: readonly TidyRule[] = [
  readsInjectedClock,
  knowsOtherRealms,
  asksTheEnvironment,
  namesUnits,
  importsAtTheTop,
  namesWhatItDoes,
  sharesListeners,
  todoHasIssue,
];
