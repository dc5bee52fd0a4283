import { createHash } from "node:crypto";
import type { RecordedCall } from "../../simulation/jvm/recorded-call.js";
import type { SeenCommand } from "../servers/server-monitor.js";

/** What a client sends that is no operation on a lock, a semaphore or a latch. */
const APART = new Set(["SCRIPT", "SUBSCRIBE", "UNSUBSCRIBE", "PING", "CLIENT", "HELLO", "INFO", "FLUSHALL"]);
/** Commands whose words are all keys, from the first on. The others have one key. */
const ONLY_KEYS = new Set(["DEL", "EXISTS"]);
/** What is sent at once is no older, in milliseconds; leases are longer. */
const RECENT_MS = 10_000;

/** What stands for which word of what is sent. */
export interface Wording {
  readonly name: string;
  readonly holders: readonly string[];
  /** What a number stands for; the first that fits counts. */
  readonly numbers: readonly (readonly [string, number])[];
  readonly nowMs: number;
}

/** Gives names to what is sent. */
export class ScriptRecorder {
  readonly calls: Record<string, RecordedCall> = {};
  readonly #texts = new Map<string, string>();
  readonly #known = new Set<string>();

  /** Of what was sent, each call that has no name yet. */
  fresh(seen: readonly SeenCommand[], wording: Wording): readonly RecordedCall[] {
    this.#learn(seen);
    const fresh = new Map<string, RecordedCall>();
    for (const words of seen) {
      if (APART.has(commandOf(words))) continue;
      const call = this.#described(words, wording);
      if (call === undefined) continue;
      const id = idOf(call);
      if (!this.#known.has(id)) fresh.set(id, call);
    }
    return [...fresh.values()];
  }

  /** Gives names to calls. */
  name(calls: readonly RecordedCall[], names: readonly string[]): void {
    if (calls.length !== names.length) {
      throw new Error(`new are ${JSON.stringify(calls)}, and not ${names.join(", ") || "none"}`);
    }
    calls.forEach((call, at) => {
      this.#known.add(idOf(call));
      this.calls[names[at] ?? ""] = call;
    });
  }

  #learn(seen: readonly SeenCommand[]): void {
    for (const words of seen) {
      const [, first = "", second = ""] = words;
      const text = commandOf(words) === "EVAL" ? first : second;
      if (commandOf(words) !== "EVAL" && !isScriptLoad(words)) continue;
      this.#texts.set(createHash("sha1").update(text, "latin1").digest("hex"), text);
    }
  }

  #described(words: SeenCommand, wording: Wording): RecordedCall | undefined {
    const command = commandOf(words);
    const described = (raw: readonly string[]) =>
      withoutRepeats(raw.map((word) => placeholderOf(word, wording)));
    if (command !== "EVAL" && command !== "EVALSHA") {
      const keyCount = ONLY_KEYS.has(command) ? words.length - 1 : 1;
      return {
        command,
        keys: described(words.slice(1, 1 + keyCount)),
        args: described(words.slice(1 + keyCount)),
      };
    }
    const [, script = "", count = "", ...rest] = words;
    const lua = command === "EVAL" ? script : this.#texts.get(script);
    // The server does not know it yet, and is sent the text next.
    if (lua === undefined) return undefined;
    return { lua, keys: described(rest.slice(0, Number(count))), args: described(rest.slice(Number(count))) };
  }
}

/** A script for the same keys is the same whatever its arguments. */
function idOf({ lua, command, keys, args }: RecordedCall): string {
  return JSON.stringify(lua === undefined ? { command, keys, args } : { lua, keys });
}

function commandOf([name = ""]: SeenCommand): string {
  return name.toUpperCase();
}

function isScriptLoad(words: SeenCommand): boolean {
  return commandOf(words) === "SCRIPT" && words[1]?.toUpperCase() === "LOAD";
}

function placeholderOf(word: string, { name, holders, numbers, nowMs }: Wording): string {
  const number = numbers.find(([, value]) => String(value) === word);
  if (number !== undefined) return `<${number[0]}>`;
  if (/^s?publish$/i.test(word)) return "<publish>";
  if (isLatchTime(word)) return "<latchMs>";
  if (word === "922337203685477") return "<permanent>";
  // Ids of permits are 16 bytes at random.
  if (word.length === 16 && /[^\x20-\x7e]/.test(word)) return "<permitId>";
  if (/^\d{13}$/.test(word)) return Number(word) <= nowMs + RECENT_MS ? "<nowMs>" : "<endMs>";
  const text = holders.reduce((rest, holder) => rest.replaceAll(holder, "<holder>"), word);
  return text
    .replaceAll(name, "<name>")
    .replace(/(?<=^redisson_unlock_latch:.*:)[\da-f]{32}$/, "<requestId>");
}

/** How long Redisson keeps the latch of an unlock: as long as it repeats it, which chance has a part in. */
function isLatchTime(word: string): boolean {
  return /^\d+$/.test(word) && Number(word) >= 13_000 && Number(word) <= 20_000;
}

function withoutRepeats(words: readonly string[]): readonly string[] {
  return words.filter((word, at) => word !== words[at - 1] || !word.startsWith("<"));
}
