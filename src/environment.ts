import { randomBytes, randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { basename } from "node:path";

/** Refers to an object without keeping it alive. */
export interface Weak<T extends object> {
  deref(): T | undefined;
}

/** The arguments of `process.emitWarning` besides the text. */
type WarningKind = string | { readonly type: string; readonly code: string };

/** A description of a process, for the people who look for it. */
export interface ProcessIdentity {
  /** The npm package that was started, or else the file name of the program; "" without either. */
  readonly app: string;
  readonly host: string;
  readonly pid: number;
  /** `node 24.5.0` */
  readonly runtime: string;
}

/** The port to everything outside the program, except time (see clock.ts) and Redis (see driver.ts). */
export interface Environment {
  /** A number from 0 up to but not including 1. */
  random(): number;
  uuid(): string;
  /** Lower-case hexadecimal digits, two for each byte. */
  randomHex(bytes: number): string;
  weak<T extends object>(object: T): Weak<T>;
  /**
   * Stands in for garbage collection: calls `tell` once it finds the object unreachable. If undefined, a `FinalizationRegistry` of the
   * process does so.
   */
  readonly whenForgotten: ((object: object, tell: () => void) => void) | undefined;
  warn(message: string, kind: WarningKind): void;
  identity(): ProcessIdentity;
  /** The codes of warnings that were given and must not be repeated. */
  readonly warned: Set<string>;
}

/** The process that has loaded this module. */
const processEnvironment: Environment = {
  random: () => Math.random(),
  uuid: () => randomUUID(),
  randomHex: (bytes) => randomBytes(bytes).toString("hex"),
  weak: (object) => new WeakRef(object),
  whenForgotten: undefined,
  warn: (message, kind) => process.emitWarning(message, kind as NodeJS.EmitWarningOptions),
  identity: () => ({ app: programName(), host: hostname(), pid: process.pid, runtime: runtimeName() }),
  warned: new Set(),
};

function programName(): string {
  const [, file = ""] = process.argv;
  return process.env["npm_package_name"] ?? basename(file);
}

function runtimeName(): string {
  const { bun, deno, node } = process.versions;
  if (bun !== undefined) return `bun ${bun}`;
  return deno === undefined ? `node ${node}` : `deno ${deno}`;
}

/** The current environment. Look it up at each use. */
export let environment: Environment = processEnvironment;

/** Replaces the environment for everything that the process does from now on. @returns a function that restores the previous environment */
export function replaceEnvironment(other: Environment): () => void {
  const replaced = environment;
  environment = other;
  return () => {
    environment = replaced;
  };
}

/** Calls back with the registered value once the object that it was registered for is garbage. */
export class Forgotten<T> {
  readonly #tell: (value: T) => void;
  #registry: FinalizationRegistry<T> | undefined;

  constructor(tell: (value: T) => void) {
    this.#tell = tell;
  }

  /**
   * @param value the argument of the callback; it must never refer to the object while it is registered, because the registry keeps it
   * @param token ends the registration, by {@link unregister}
   */
  register(object: object, value: T, token?: object): void {
    const { whenForgotten } = environment;
    if (whenForgotten !== undefined) {
      whenForgotten(object, () => this.#tell(value));
      return;
    }
    this.#registry ??= new FinalizationRegistry(this.#tell);
    this.#registry.register(object, value, token);
  }

  /** Unregisters the value of this token. A callback with it may still come. */
  unregister(token: object): void {
    this.#registry?.unregister(token);
  }
}

/** State of a module that outlives its clients. Each environment has its own state. */
export class OfEnvironment<T> {
  readonly #make: () => T;
  readonly #states = new WeakMap<Environment, T>();

  constructor(make: () => T) {
    this.#make = make;
  }

  get current(): T {
    const known = this.#states.get(environment);
    if (known !== undefined) return known;
    const made = this.#make();
    this.#states.set(environment, made);
    return made;
  }
}
