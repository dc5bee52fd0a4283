import { bytesOfText, readableBytes } from "../../../src/memory/byte-strings.js";
import { scriptSource } from "../../../src/protocol/script-call.js";
import type { Action } from "./server-pair.js";

/** Stands in names for bytes that are not UTF-8: what clients and the embedded server are given is text. */
export const NO_TEXT = "\ue000";

const STAND_IN = bytesOfText(NO_TEXT);
const BYTES = "\xff\xc3\x28\x80";

/** Lets a script begin with keys and arguments that have the bytes. */
const RESTORE = `for _, words in ipairs({ KEYS, ARGV }) do for at = 1, #words do words[at] =
  string.gsub(words[at], "${inLua(STAND_IN)}", function() return "${inLua(BYTES)}" end) end end `;

/** Answers no number: the embedded server hands none from Lua that is beyond 64 bits. What was stored is compared in any case. */
const COMMAND = `local answer = redis.call(unpack(ARGV)) if type(answer) == "number" then return "a number" end return answer`;

function inLua(bytes: string): string {
  return Array.from(bytes, (byte) => `\\${String(byte.charCodeAt(0)).padStart(3, "0")}`).join("");
}

/** The same with the bytes that its names stand for. A command becomes a script, as only that can have them. */
export function withBytes(action: Action): Action {
  const { script, keys, args } =
    "script" in action
      ? action
      : { script: { name: "command", lua: COMMAND }, keys: [] as const, args: action };
  if (![...keys, ...args].some((word) => word.includes(NO_TEXT))) return action;
  return { script: scriptSource(script.name, `${RESTORE}${script.lua}`), keys, args };
}

/** What is stored, with names that have the stand-in again. */
export function withoutBytes<Value>(stored: Value): Value {
  return shown(stored) as Value;
}

function shown(value: unknown): unknown {
  if (typeof value === "string") return shownText(value);
  if (Array.isArray(value)) return value.map(shown);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [shownText(name), shown(item)]));
}

/** Bytes that are no text are stored as `0x` and digits, see `readableBytes`. */
function shownText(text: string): string {
  const bytes = text.startsWith("0x") ? Buffer.from(text.slice("0x".length), "hex").toString("latin1") : "";
  return bytes.includes(BYTES) ? readableBytes(bytes.replaceAll(BYTES, STAND_IN)) : text;
}
