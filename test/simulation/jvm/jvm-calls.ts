import type { Clock } from "../../../src/clock.js";
import { type Driver, type PubSubFamily, ServerReplyError } from "../../../src/driver/driver.js";
import {
  type RawReply,
  type ScriptCall,
  type ScriptSource,
  scriptSource,
} from "../../../src/protocol/script-call.js";
import { JvmTimeoutError } from "./jvm-errors.js";
import type { RecordedCall, RecordedCalls } from "./recorded-call.js";

/** What stands for the placeholders of a call; a list for one that stands for several. */
export type Values = Readonly<Record<string, string | number | readonly string[]>>;

/** Redisson's defaults. */
const TIMEOUT_MS = 3_000;
const RETRY_ATTEMPTS = 4;
const RETRY_BASE_MS = 1_000;
const RETRY_CAP_MS = 2_000;

/** Answers upon which any call is sent again: it has not run. */
const NOT_RUN = new Set(["LOADING", "TRYAGAIN", "CLUSTERDOWN", "BUSY", "MASTERDOWN", "READONLY"]);

export interface JvmCallsOptions {
  readonly driver: Driver;
  readonly clock: Clock;
  /** At least 0, and less than 1. */
  readonly random: () => number;
  readonly scripts: RecordedCalls;
}

/**
 * Sends what Redisson sends, with its time limit.
 *
 * Simplified: of what Redisson sends again without an answer, this does so only where it changes nothing (renewals,
 * `forceUnlock`, giving up). Where there are replicas Redisson would also send other calls again, and add a `WAIT`.
 */
export class JvmCalls {
  /** Which messages it sends and hears; in a cluster with sharded ones, those. */
  readonly family: PubSubFamily;
  readonly #options: JvmCallsOptions;
  readonly #sources = new Map<string, ScriptSource>();

  constructor(options: JvmCallsOptions) {
    this.#options = options;
    const { topology, sharded = false } = options.driver.traits;
    this.family = topology === "cluster" && sharded ? "sharded" : "classic";
  }

  /** @throws JvmTimeoutError, ServerReplyError, or what the driver throws when the connection breaks */
  async run(name: string, values: Values, { repeats = false } = {}): Promise<RawReply> {
    return this.send(name, [values], repeats);
  }

  /** One call for several locks: each adds its keys, and its arguments but the first, which is the same for all. */
  async send(name: string, all: readonly Values[], repeats: boolean): Promise<RawReply> {
    const call = this.#callOf(name, all);
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#sendOnce(call);
      } catch (error) {
        const notRun = error instanceof ServerReplyError && NOT_RUN.has(error.code);
        const again = notRun || (repeats && error instanceof JvmTimeoutError);
        if (!again || attempt === RETRY_ATTEMPTS) throw error;
        await this.sleep(this.#retryDelayMs(attempt));
      }
    }
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#options.clock.schedule(ms, resolve));
  }

  /** For how long the latch of an unlock is kept: for as long as Redisson may repeat it. */
  latchMs(): number {
    return Math.floor((TIMEOUT_MS + this.#retryDelayMs(RETRY_ATTEMPTS)) * RETRY_ATTEMPTS);
  }

  /** 16 bytes in hexadecimal digits; of a permit without the highest bit, as the port takes texts for arguments. */
  randomId(highest = 255): string {
    const byte = () => Math.floor(this.#options.random() * (highest + 1));
    return Array.from({ length: 16 }, () => byte().toString(16).padStart(2, "0")).join("");
  }

  /** Half of the delay is fixed, the other by chance. */
  #retryDelayMs(attempt: number): number {
    const half = Math.min(RETRY_BASE_MS * 2 ** attempt, RETRY_CAP_MS) / 2;
    return half + this.#options.random() * half;
  }

  #sendOnce(call: ScriptCall): Promise<RawReply> {
    const { driver, clock } = this.#options;
    const ticket = { givenUp: false };
    return new Promise((resolve, reject) => {
      const timer = clock.schedule(TIMEOUT_MS, () => {
        ticket.givenUp = true;
        reject(new JvmTimeoutError(`${call.script.name} was not answered within ${TIMEOUT_MS} ms`));
      });
      const settle =
        <T>(end: (result: T) => void) =>
        (result: T) => {
          timer.cancel();
          end(result);
        };
      driver.run(call, ticket).then(settle(resolve), settle(reject));
    });
  }

  #callOf(name: string, all: readonly Values[]): ScriptCall {
    const recorded = this.#options.scripts[name];
    if (recorded === undefined) throw new Error(`this release of Redisson has no "${name}"`);
    const publish = this.family === "sharded" ? "SPUBLISH" : "PUBLISH";
    const filled = (words: readonly string[], values: Values) =>
      words.flatMap((word) => fill(word, { publish, ...values }));
    return {
      script: this.#sourceOf(name, recorded),
      keys: all.flatMap((values) => filled(recorded.keys, values)),
      args: all.flatMap((values, at) => filled(at === 0 ? recorded.args : recorded.args.slice(1), values)),
    };
  }

  #sourceOf(name: string, { lua, command, keys, args }: RecordedCall): ScriptSource {
    const known = this.#sources.get(name);
    if (known !== undefined) return known;
    const words = [...keys.map((_, at) => `KEYS[${at + 1}]`), ...args.map((_, at) => `ARGV[${at + 1}]`)];
    // The port carries scripts only: a command is one that does nothing else.
    const text = lua ?? `return redis.call(${[`'${command}'`, ...words].join(", ")})`;
    const source = scriptSource(`jvm-${name.replaceAll(" ", "-")}`, text);
    this.#sources.set(name, source);
    return source;
  }
}

/** Puts values in; a name that has braces of its own gets none, but in the channel of a latch. */
function fill(word: string, values: Values): string | readonly string[] {
  const only = /^<(\w+)>$/.exec(word)?.[1];
  if (only !== undefined && Array.isArray(values[only])) return values[only] as readonly string[];
  return named(word, String(values["name"])).replace(/<(\w+)>/g, (_, placeholder: string) => {
    const value = values[placeholder];
    if (value === undefined) throw new Error(`nothing stands for <${placeholder}>`);
    return String(value);
  });
}

/** The key or channel of an object, by its recorded form: `redisson_lock__channel:{<name>}`. */
export function named(word: string, name: string): string {
  const braced = name.includes("{") && !word.startsWith("redisson_countdownlatch") ? name : `{${name}}`;
  return word.replaceAll("{<name>}", () => braced).replaceAll("<name>", () => name);
}
