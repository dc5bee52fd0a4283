import { library } from "./library.js";
import { type Token, tokensOf, Unknown } from "./tokens.js";

/** JavaScript for an expression of Lua. */
interface Code {
  readonly js: string;
  /** The same as a condition. */
  readonly test: string;
  /** Whether `js` answers all results of a call, of which there may be none or several. */
  readonly isSeveral?: boolean;
  /** It may be assigned to: JavaScript that does so. */
  readonly assign?: (value: string) => string;
  /** It is a call, which may stand alone. */
  readonly isCall?: boolean;
}

/** The names that are known in a block, and how JavaScript calls them. */
type Scope = Map<string, string>;

/** Binds less or more: an operator binds what is on its left by the first number, what is on its right by the second. */
const BINDING: Readonly<Record<string, readonly [number, number]>> = {
  or: [1, 2],
  and: [3, 4],
  ...{ "<": [5, 6], ">": [5, 6], "<=": [5, 6], ">=": [5, 6], "~=": [5, 6], "==": [5, 6] },
  "..": [8, 7],
  ...{ "+": [9, 10], "-": [9, 10], "*": [11, 12], "/": [11, 12], "%": [11, 12] },
  "^": [16, 15],
};
const UNARY = 13;

const OPERATIONS: Readonly<Record<string, string>> = {
  ...{ "+": "add", "-": "subtract", "*": "multiply", "/": "divide", "%": "modulo", "^": "power" },
  "..": "join",
};

const CALL = 'redis["call"]';
const PCALL = 'redis["pcall"]';
const REDIS_FUNCTIONS = new Set(
  ["call", "pcall", "error_reply", "status_reply", "acl_check_cmd"].map((name) => `redis.${name}`),
);

const LIBRARIES: ReadonlySet<string> = new Set(["string", "math", "table", "redis"]);

/**
 * Translates a script of Lua 5.1 to the body of a JavaScript function, as far as scripts for Redis need it. Throws
 * {@link Unknown} for everything else: no global variables of its own, no `goto`, no methods, no coroutines, no metatables.
 */
export function compiled(lua: string): string {
  return new Compiler(tokensOf(lua)).script();
}

class Compiler {
  readonly #tokens: readonly Token[];
  #at = 0;
  #scopes: Scope[] = [];
  #names = 0;
  /** Variables of the function that is translated, for what is looked at twice. */
  #temporary: string[] = [];
  #hasRest = false;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  script(): string {
    const body = this.#function(false);
    if (this.#token.kind !== "end") throw this.#unknown();
    return body;
  }

  get #token(): Token {
    return this.#tokens[this.#at] ?? { kind: "end", text: "", line: 0 };
  }

  #unknown(): Unknown {
    const { text, line } = this.#token;
    return new Unknown(`"${text}" on line ${line}`);
  }

  #is(text: string): boolean {
    const token = this.#token;
    return (token.kind === "sign" || token.kind === "word") && token.text === text;
  }

  #takes(text: string): boolean {
    const is = this.#is(text);
    if (is) this.#at += 1;
    return is;
  }

  #take(text: string): void {
    if (!this.#takes(text)) throw this.#unknown();
  }

  #name(): string {
    const { kind, text } = this.#token;
    if (kind !== "name") throw this.#unknown();
    this.#at += 1;
    return text;
  }

  #declare(name: string): string {
    this.#names += 1;
    const js = `${name}$${this.#names}`;
    this.#scopes.at(-1)?.set(name, js);
    return js;
  }

  #find(name: string): string | undefined {
    return this.#scopes.findLast((scope) => scope.has(name))?.get(name);
  }

  #aside(): string {
    this.#names += 1;
    const js = `$${this.#names}`;
    this.#temporary.push(js);
    return js;
  }

  /** The body of a function, without braces. */
  #function(hasRest: boolean): string {
    const outer = [this.#temporary, this.#hasRest] as const;
    this.#temporary = [];
    this.#hasRest = hasRest;
    const statements = this.#block();
    const variables = this.#temporary.length === 0 ? "" : `let ${this.#temporary.join(", ")};\n`;
    [this.#temporary, this.#hasRest] = outer;
    return `${variables}${statements}return NONE;\n`;
  }

  #block(): string {
    this.#scopes.push(new Map());
    let js = "";
    while (!["end", "else", "elseif", "until"].some((word) => this.#is(word)) && this.#token.kind !== "end") {
      const isReturn = this.#is("return");
      js += this.#statement();
      if (isReturn) break;
    }
    this.#scopes.pop();
    return js;
  }

  #statement(): string {
    const { line } = this.#token;
    if (this.#takes(";")) return "";
    if (this.#takes("if")) return this.#if();
    if (this.#takes("while")) {
      const condition = this.#expression().test;
      this.#take("do");
      return `while (${condition}) {\n${this.#closed()}}\n`;
    }
    if (this.#takes("do")) return `{\n${this.#closed()}}\n`;
    if (this.#takes("for")) return `state.line = ${line};\n${this.#for()}`;
    if (this.#takes("break")) return "break;\n";
    const js = this.#takes("local") ? this.#local() : this.#takes("return") ? this.#return() : this.#plain();
    return `state.line = ${line};\n${js}`;
  }

  #closed(): string {
    const js = this.#block();
    this.#take("end");
    return js;
  }

  #if(): string {
    const condition = this.#expression().test;
    this.#take("then");
    const js = `if (${condition}) {\n${this.#block()}}`;
    if (this.#takes("elseif")) return `${js} else {\n${this.#if()}}\n`;
    if (this.#takes("else")) return `${js} else {\n${this.#closed()}}\n`;
    this.#take("end");
    return `${js}\n`;
  }

  #for(): string {
    const first = this.#name();
    if (this.#takes("=")) return this.#count(first);
    const names = [first];
    while (this.#takes(",")) names.push(this.#name());
    this.#take("in");
    const library =
      this.#token.text === "string" ? `${this.#name()}${this.#dot()}${this.#name()}` : this.#name();
    if (this.#find(library.split(".")[0] ?? "") !== undefined) throw this.#unknown();
    this.#take("(");
    const args = this.#list(")");
    const items = {
      pairs: `entries(${args})`,
      ipairs: `entries(${args}, true)`,
      "string.gmatch": `matchesOf(${args})`,
    }[library];
    if (items === undefined) throw this.#unknown();
    this.#take("do");
    this.#scopes.push(new Map());
    const variables = names.map((name) => this.#declare(name));
    const js = `for (let [${variables.join(", ")}] of ${items}) {\n${this.#closed()}}\n`;
    this.#scopes.pop();
    return js;
  }

  #dot(): string {
    this.#take(".");
    return ".";
  }

  #count(name: string): string {
    const from = this.#expression().js;
    this.#take(",");
    const to = this.#expression().js;
    const step = this.#takes(",") ? this.#expression().js : "1";
    this.#take("do");
    this.#names += 1;
    const [at, last, by] = ["at", "last", "by"].map((each) => `$${each}${this.#names}`);
    this.#scopes.push(new Map());
    const variable = this.#declare(name);
    const head = `let ${at} = bound(${from}, "initial value"), ${last} = bound(${to}, "limit"), ${by} = bound(${step}, "step")`;
    const goesOn = `${by} > 0 ? ${at} <= ${last} : ${at} >= ${last}`;
    const js = `for (${head}; ${goesOn}; ${at} += ${by}) {\nlet ${variable} = ${at};\n${this.#closed()}}\n`;
    this.#scopes.pop();
    return js;
  }

  #local(): string {
    if (this.#takes("function")) {
      const js = this.#declare(this.#name());
      return `let ${js} = ${this.#closure()};\n`;
    }
    const names = [this.#name()];
    while (this.#takes(",")) names.push(this.#name());
    const values = this.#takes("=") ? this.#expressions() : [];
    const [only] = values;
    if (names.length === 1 && values.length <= 1) {
      return `let ${this.#declare(names[0] ?? "")} = ${only === undefined ? "undefined" : single(only)};\n`;
    }
    // The names are not known in the values.
    const list = `[${values.map(spread).join(", ")}]`;
    return `let [${names.map((name) => this.#declare(name)).join(", ")}] = ${list};\n`;
  }

  #return(): string {
    const isEmpty = ["end", "else", "elseif", "until", ";"].some((sign) => this.#is(sign));
    const values = isEmpty || this.#token.kind === "end" ? [] : this.#expressions();
    this.#takes(";");
    const [only] = values;
    if (only === undefined) return "return NONE;\n";
    return values.length === 1 ? `return ${only.js};\n` : `return [${values.map(spread).join(", ")}];\n`;
  }

  /** A call or an assignment. */
  #plain(): string {
    const first = this.#suffixed();
    if (first.isCall === true) return `${first.js};\n`;
    const targets = [first];
    while (this.#takes(",")) targets.push(this.#suffixed());
    this.#take("=");
    const values = this.#expressions();
    const [only] = values;
    if (targets.length === 1 && values.length === 1 && only !== undefined) {
      return `${this.#assigned(first, single(only))};\n`;
    }
    const list = this.#aside();
    const sets = targets.map((target, at) => `${this.#assigned(target, `${list}[${at}]`)};\n`);
    return `${list} = [${values.map(spread).join(", ")}];\n${sets.join("")}`;
  }

  #assigned({ assign }: Code, value: string): string {
    if (assign === undefined) throw this.#unknown();
    return assign(value);
  }

  #expressions(): Code[] {
    const all = [this.#expression()];
    while (this.#takes(",")) all.push(this.#expression());
    return all.map((code, at) => (at < all.length - 1 ? only(code) : code));
  }

  /** What is listed up to a closing sign, as the arguments of a call in JavaScript. */
  #list(end: string): string {
    if (this.#takes(end)) return "";
    const all = this.#expressions();
    this.#take(end);
    return all.map(spread).join(", ");
  }

  #expression(least = 0): Code {
    let left = this.#unary();
    for (;;) {
      const { text } = this.#token;
      const binding = this.#token.kind === "sign" || this.#token.kind === "word" ? BINDING[text] : undefined;
      if (binding === undefined || binding[0] < least) return left;
      this.#at += 1;
      left = this.#binary(text, only(left), only(this.#expression(binding[1])));
    }
  }

  #binary(sign: string, left: Code, right: Code): Code {
    const operation = OPERATIONS[sign];
    if (operation !== undefined) return value(`${operation}(${left.js}, ${right.js})`);
    if (sign === "==") return truth(`(${left.js} === ${right.js})`);
    if (sign === "~=") return truth(`(${left.js} !== ${right.js})`);
    if (sign === "<") return truth(`isLess(${left.js}, ${right.js})`);
    if (sign === "<=") return truth(`isAtMost(${left.js}, ${right.js})`);
    if (sign === ">") return truth(`isMore(${left.js}, ${right.js})`);
    if (sign === ">=") return truth(`isAtLeast(${left.js}, ${right.js})`);
    const aside = this.#aside();
    const is = `isTrue(${aside} = ${left.js})`;
    if (sign === "and")
      return { js: `(${is} ? ${right.js} : ${aside})`, test: `(${left.test} && ${right.test})` };
    return { js: `(${is} ? ${aside} : ${right.js})`, test: `(${left.test} || ${right.test})` };
  }

  #unary(): Code {
    if (this.#takes("not")) return truth(`!${only(this.#expression(UNARY)).test}`);
    if (this.#takes("-")) return value(`negate(${only(this.#expression(UNARY)).js})`);
    if (this.#takes("#")) return value(`length(${only(this.#expression(UNARY)).js})`);
    return this.#simple();
  }

  #simple(): Code {
    const { kind, text } = this.#token;
    if (kind === "number") {
      this.#at += 1;
      return value(text);
    }
    if (kind === "text") {
      this.#at += 1;
      return value(JSON.stringify(text));
    }
    if (this.#takes("nil")) return { js: "undefined", test: "false" };
    if (this.#takes("true")) return truth("true");
    if (this.#takes("false")) return truth("false");
    if (this.#takes("function")) return value(this.#closure());
    if (this.#is("{")) return this.#table();
    if (this.#takes("...")) {
      if (!this.#hasRest) throw this.#unknown();
      return { js: "rest", test: "isTrue(rest[0])", isSeveral: true };
    }
    return this.#suffixed();
  }

  #closure(): string {
    this.#take("(");
    const names: string[] = [];
    let hasRest = false;
    this.#scopes.push(new Map());
    while (!this.#takes(")")) {
      if (this.#takes("...")) hasRest = true;
      else names.push(this.#declare(this.#name()));
      if (!this.#is(")")) this.#take(",");
    }
    const body = this.#function(hasRest);
    this.#scopes.pop();
    this.#take("end");
    return `(${[...names, ...(hasRest ? ["...rest"] : [])].join(", ")}) => {\n${body}}`;
  }

  #table(): Code {
    this.#take("{");
    const items: Code[] = [];
    const fields: string[] = [];
    while (!this.#takes("}")) {
      const [, next] = this.#tokens.slice(this.#at, this.#at + 2);
      if (this.#takes("[")) {
        const key = only(this.#expression()).js;
        this.#take("]");
        this.#take("=");
        fields.push(`[${key}, ${only(this.#expression()).js}]`);
      } else if (this.#token.kind === "name" && next?.kind === "sign" && next.text === "=") {
        const key = JSON.stringify(this.#name());
        this.#take("=");
        fields.push(`[${key}, ${only(this.#expression()).js}]`);
      } else items.push(this.#expression());
      if (!this.#is("}") && !this.#takes(";")) this.#take(",");
    }
    const listed = items.map((item, at) => (at < items.length - 1 ? only(item) : item)).map(spread);
    const list = `[${listed.join(", ")}]`;
    return value(fields.length === 0 ? `list(${list})` : `list(${list}, [${fields.join(", ")}])`);
  }

  /** A name, what is in a table, a call. */
  #suffixed(): Code {
    let code = this.#primary();
    for (;;) {
      const { line, kind } = this.#token;
      if (kind === "text") throw this.#unknown();
      if (this.#takes(".")) code = field(only(code).js, JSON.stringify(this.#name()));
      else if (this.#takes("[")) {
        const key = only(this.#expression()).js;
        this.#take("]");
        code = field(only(code).js, key);
      } else if (this.#takes("(")) code = this.#call(only(code).js, line);
      else return code;
    }
  }

  #call(callee: string, line: number): Code {
    const args = this.#list(")");
    if (callee === CALL) return { ...value(`command(${line}, [${args}])`), isCall: true };
    if (callee === PCALL) return { ...value(`attempt([${args}])`), isCall: true };
    if (/^(?:single|redis)\[/.test(callee)) return { ...value(`${callee}(${args})`), isCall: true };
    const isKnown = callee.startsWith("several[");
    const js = isKnown ? `${callee}(${args})` : `call(${callee}${args === "" ? "" : `, ${args}`})`;
    return { js, test: `isTrue(first(${js}))`, isSeveral: true, isCall: true };
  }

  #primary(): Code {
    if (this.#takes("(")) {
      const inner = only(this.#expression());
      this.#take(")");
      return { js: inner.js, test: inner.test };
    }
    const name = this.#name();
    const known = this.#find(name);
    if (known !== undefined) {
      return { js: known, test: `isTrue(${known})`, assign: (js) => `${known} = ${js}` };
    }
    if (name === "KEYS" || name === "ARGV") return value(name);
    const path = LIBRARIES.has(name) ? `${name}${this.#dot()}${this.#name()}` : name;
    if (REDIS_FUNCTIONS.has(path)) {
      return value(`redis["${path.slice("redis.".length)}"]`);
    }
    if (path in library.single) return value(`single["${path}"]`);
    if (path in library.several) return value(`several["${path}"]`);
    throw new Unknown(`the global name ${path}`);
  }
}

function value(js: string): Code {
  return { js, test: `isTrue(${js})` };
}

function truth(js: string): Code {
  return { js, test: js };
}

function field(holder: string, key: string): Code {
  const js = `get(${holder}, ${key})`;
  return { js, test: `isTrue(${js})`, assign: (assigned) => `set(${holder}, ${key}, ${assigned})` };
}

/** Of the results of a call only the first. */
function only(code: Code): Code {
  return code.isSeveral === true ? value(`first(${code.js})`) : code;
}

function single(code: Code): string {
  return only(code).js;
}

/** As one of several: all results of a call. */
function spread(code: Code): string {
  return code.isSeveral === true ? `...all(${code.js})` : code.js;
}
