import { basename } from "node:path";
import { complain, type TidyRule } from "./rule.js";

const HEADER = /^--\[\[\n([\s\S]*?)\n\]\]\n/;
const script = "src/protocol/scripts/lock-example.lua";
const isLua = (path: string) => path.endsWith(".lua");
const isInclude = (path: string) => path.includes("/include/");

function headerOf(text: string): string {
  return HEADER.exec(text)?.[1] ?? "";
}

/** The code, with comments blanked and lines kept. */
function codeOf(text: string): string {
  return text.replace(HEADER, (header) => header.replace(/[^\n]/g, "")).replace(/--.*$/gm, "");
}

const hasHeader: TidyRule = {
  promise: "a script opens with its name, its purpose, KEYS, ARGV, Returns and Compat",
  applies: isLua,
  problems(text, path) {
    const header = headerOf(text);
    if (!header.startsWith(`  ${basename(path, ".lua")}: `))
      return ["no header with the script's name and purpose"];
    if (isInclude(path)) return [];
    const code = codeOf(text);
    const sections = ["KEYS", "ARGV"].filter((table) => code.includes(table)).concat("Returns", "Compat");
    return sections
      .filter((section) => !new RegExp(`^ {2}${section}\\b`, "m").test(header))
      .map((section) => `the header lacks ${section}`);
  },
  offences: [
    { path: script, text: "return 1\n" },
    {
      path: script,
      text: "--[[\n  lock-other: another's header.\n\n  Returns  1\n  Compat   none\n]]\nreturn 1\n",
    },
    {
      path: script,
      text: "--[[\n  lock-example: no keys.\n\n  Returns  1\n  Compat   none\n]]\nreturn #KEYS\n",
    },
    { path: script, text: "--[[\n  lock-example: no Compat.\n\n  Returns  1\n]]\nreturn 1\n" },
    { path: "src/protocol/scripts/include/example.lua", text: "local function example()\nend\n" },
  ],
};

const documentsIndexes: TidyRule = {
  promise: "a script's header documents the KEYS and ARGV that its code uses, and no others",
  applies: (path) => isLua(path) && !isInclude(path),
  problems(text) {
    const header = headerOf(text);
    const used = new Set(codeOf(text).match(/\b(?:KEYS|ARGV)\[\d+\]/g));
    const documented = new Set(header.match(/\b(?:KEYS|ARGV)\[\d+\]/g));
    const problems = [
      ...[...used].filter((index) => !documented.has(index)).map((index) => `${index} is not documented`),
      ...[...documented].filter((index) => !used.has(index)).map((index) => `${index} is not used`),
    ];
    const repeats = /\b(?:KEYS|ARGV)\[[^\]]*[a-z]|\((?:KEYS|ARGV)\)/.test(codeOf(text));
    if (repeats && !/\bfor each\b/.test(header)) problems.push('the header lacks "for each"');
    return problems;
  },
  offences: [
    { path: script, text: "--[[\n  KEYS[1]  lock\n]]\nlocal lock, queue = KEYS[1], KEYS[2]\n" },
    { path: script, text: "--[[\n  ARGV[1]  holder\n  ARGV[2]  leaseMs\n]]\nlocal holder = ARGV[1]\n" },
    { path: script, text: "--[[\n  KEYS[i]  lock\n]]\nfor i, lock in ipairs(KEYS) do\nend\n" },
    { path: script, text: "--[[\n  ARGV  holders\n]]\nlocal holder = ARGV[2 * i]\n" },
  ],
};

/**
 * Redis speaks Lua 5.1 and the embedded server 5.3, where whole numbers print differently; so numbers become text by this alone. In 5.1 a
 * `%s` goes through a C string and ends a text at its first zero byte.
 */
const FORMAT = "%.0f";

/**
 * `..` keeps all bytes. Its operands are texts, as a number would print otherwise. Keys that are not declared break clusters, so these
 * are all that is put together from parts.
 */
const JOINS: readonly string[] = [
  'prefix .. ":" .. holder .. ":rwlock_timeout:" .. string.format("%.0f", index)',
  'fair.channel .. ":" .. client_id',
  'fair.channel .. ":" .. waiter',
  'channel .. ":" .. first[1]',
  'channel .. ":" .. other',
  'channel .. ":" .. owner',
  'waiting.channel .. ":" .. line',
  'waiting.channel .. ":" .. next_line',
  "TOLD .. line",
  "TOLD .. waiting.line",
  '"(" .. milliseconds(waiting.place)',
  'client .. ":next"',
  'client .. ":next:write"',
  'thread_id .. ":" .. milliseconds(until_ms)',
  'owner .. ":" .. permits .. ":" .. milliseconds(since_ms)',
  'answer[1] .. ":" .. answer[2]',
  "digit(high) .. digit(value - 16 * high)",
];

/** What scripts call. The differential test of Lua has shown that it answers the same on both servers. */
const FUNCTIONS = {
  string: "byte char find format gmatch gsub len match sub",
  table: "insert",
  math: "abs ceil floor max min",
  redis: "acl_check_cmd call pcall error_reply",
};
const UNKNOWN_FUNCTION = new RegExp(
  Object.entries(FUNCTIONS)
    .map(([library, names]) => `\\b${library}\\.(?!(?:${names.replaceAll(" ", "|")})\\b)\\w+`)
    .join("|"),
  "g",
);
/** `pairs` and `next` go through a table in no order; the rest does or tells something else in each version. */
const UNKNOWN_GLOBAL =
  /(?<![.\w])(?:_G|_VERSION|arg|assert|bit|cjson|cmsgpack|coroutine|debug|error|[gs]etfenv|[gs]etmetatable|io|load|loadstring|next|os|pairs|pcall|print|raw(?:equal|get|len|set)|require|select|struct|utf8|xpcall)\b/g;
/** In Lua 5.1 a zero byte ends a pattern, `%g` is the letter; `()` answers integers. */
const FOREIGN_PATTERN = /\bstring\.(?:find|match|gmatch|gsub)\([^\n]*"[^"\n]*(?:\\0|%[gG]|\(\))[^"\n]*"/g;

const FORBIDDEN: readonly (readonly [pattern: RegExp, complaint: string])[] = [
  [/\btostring\b/g, 'numbers become text by string.format("%.0f", n)'],
  [/\bstring\.format\b/g, `the only format is ${FORMAT}: texts are joined by "..", which keeps zero bytes`],
  [/(?<!\.)\.\.(?!\.)/g, "no concatenation but the known ones: neither of numbers nor of keys"],
  [/\btable\.concat\b/g, "no concatenation but the known ones: neither of numbers nor of keys"],
  [/\bredis\.p?call\((?!")/g, "name the command"],
  [/\/\/|<<|>>|[&|]|~(?!=)|\bgoto\b|\btable\.unpack\b/g, "not in Lua 5.1"],
  [UNKNOWN_GLOBAL, "not in the subset"],
  [UNKNOWN_FUNCTION, "not in the subset"],
  [/[\w)\]]:\w/g, "call the function of the library, not a method"],
  [/%/g, "Lua 5.1 rounds a remainder otherwise than 5.3"],
  [/(?<!\b2 )\^/g, "only powers of two are the same everywhere"],
  [
    /(?:ARGV|KEYS)\[[^\]]*\] *[<>]|[<>]=? *(?:(?:ARGV|KEYS)\[|"")/g,
    "texts are in the order of the server's locale",
  ],
  [/#[\w.]+ \* #/g, "the embedded server multiplies lengths modulo 2^32"],
];

const keepsToSubset: TidyRule = {
  promise: "a script keeps to the Lua that Redis and the embedded server both understand alike",
  applies: isLua,
  problems(text) {
    const code = JOINS.reduce((rest, join) => rest.replaceAll(join, ""), codeOf(text))
      .replaceAll(`string.format("${FORMAT}",`, "(")
      .replace(/"[^"\n]*"/g, '""');
    return [
      ...complain(codeOf(text), FOREIGN_PATTERN, "no zero byte, no %g and no () in patterns"),
      ...FORBIDDEN.flatMap(([pattern, complaint]) => complain(code, pattern, complaint)),
    ];
  },
  offences: [
    "local a = tostring(1)",
    'local a = string.format("%d", 1)',
    'local a = string.format("%s", ARGV[1])',
    "local a = string.format(ARGV[1], 1)",
    "local format = string.format",
    'local key = "redisson_lock_queue:" .. KEYS[1]',
    'local key = table.concat({ "a", "b" })',
    "redis.call(command, KEYS[1])",
    "local a = 3 // 2",
    "local a = table.unpack(ARGV)",
    "local a = math.random()",
    "local a = os.time()",
    "for key in pairs(seen) do end",
    "local ok = pcall(run)",
    "table.sort(all)",
    "local a = ARGV[1]:sub(2)",
    "local a = 7 % 3",
    "local a = 10 ^ 3",
    "if ARGV[1] < ARGV[2] then",
    'if kind >= "hash" then',
    "local a = #ids * #ids",
    'local a = string.find(text, "a\\0b")',
    'local a = string.match(text, "%g+")',
  ].map((text) => ({ path: script, text })),
};

export const luaRules: readonly TidyRule[] = [hasHeader, documentsIndexes, keepsToSubset];
