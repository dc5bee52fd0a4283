import { type LuaState, lauxlib, lua, type StateFunction } from "fengari";
import { checkNumber, checkPlace, checkText, checkWritten, numberAt, refuse } from "./lua-arguments.js";
import { pushBytes } from "./lua-values.js";
import { wholeText } from "./number-text.js";

/** The most values that `string.byte` may return: more do not fit on the stack of Lua 5.1. */
const MOST_BYTES = 7_000;
/** The largest integer of fengari. No text is that long. */
const LONGEST = 2 ** 31 - 1;

/** The functions of the library `string`, as in Lua 5.1. Each gets fengari's version, which is that of Lua 5.3. */
export const textFunctions: Readonly<Record<string, (of53: StateFunction) => StateFunction>> = {
  /** Formats numbers only by `%.0f`. In Lua 5.1, a `%s` would end at a zero byte, unlike `..`. */
  format: () => (state) => {
    let argument = 1;
    const text = checkText(state, 1).replace(/%(\.0f|.?)/gs, (_, verb) => {
      argument += 1;
      if (verb !== ".0f") refuse(state, 'has only the format "%.0f"');
      return wholeText(checkWritten(state, checkNumber(state, argument)));
    });
    pushBytes(state, text);
    return 1;
  },

  sub: (of53) => (state) => {
    checkText(state, 1);
    toPlace(state, 2);
    if (lua.lua_gettop(state) > 2) toPlace(state, 3);
    return of53(state);
  },

  byte: (of53) => (state) => {
    const isLong = checkText(state, 1).length > MOST_BYTES;
    for (let at = 2; at <= lua.lua_gettop(state); at += 1) toPlace(state, at);
    if (isLong && lua.lua_gettop(state) > 2) refuse(state, "can not unpack a text this long");
    return asFloats(state, of53(state));
  },

  /** Lua 5.1 takes the number modulo 2^32 before it checks that the number is a byte. */
  char: () => (state) => {
    let bytes = "";
    for (let at = 1; at <= lua.lua_gettop(state); at += 1) {
      const byte = checkPlace(state, at);
      if (byte < 0 || byte > 255) refuse(state, "takes only numbers from 0 to 255 as characters");
      bytes += String.fromCharCode(byte);
    }
    pushBytes(state, bytes);
    return 1;
  },

  len: (of53) => (state) => {
    checkText(state, 1);
    return asFloats(state, of53(state));
  },

  find: (of53) => (state) => {
    checkText(state, 1);
    checkStart(state);
    const isPlain = lua.lua_gettop(state) > 3 && lua.lua_toboolean(state, 4);
    if (isPlain) checkText(state, 2);
    else checkPattern(state);
    return asFloats(state, of53(state));
  },

  match: (of53) => (state) => {
    checkText(state, 1);
    checkStart(state);
    checkPattern(state);
    return of53(state);
  },

  gmatch: (of53) => (state) => {
    checkText(state, 1);
    checkPattern(state);
    return of53(state);
  },

  gsub: (of53) => (state) => {
    checkText(state, 1);
    checkPattern(state);
    if (lua.lua_gettop(state) !== 3 || lua.lua_type(state, 3) !== lua.LUA_TFUNCTION)
      refuse(state, "replaces only by a function in string.gsub");
    pushChecked(state, 3);
    lua.lua_replace(state, 3);
    return asFloats(state, of53(state));
  },
};

/** Replaces an argument by a whole number that is small enough for fengari. */
function toPlace(state: LuaState, index: number): void {
  const place = checkPlace(state, index);
  lua.lua_pushnumber(state, Math.max(-LONGEST, Math.min(place, LONGEST)));
  lua.lua_replace(state, index);
}

/** If the start is beyond the end of a text, Lua 5.1 searches at the end, and 5.3 does not. */
function checkStart(state: LuaState): void {
  if (lua.lua_gettop(state) > 2 && numberAt(state, 3) !== 1)
    refuse(state, "searches only from the first byte");
}

/** In Lua 5.1 a zero byte ends a pattern (`%z` matches a zero byte), and `%g` is the letter g. `()` returns integers. */
function checkPattern(state: LuaState): void {
  const pattern = checkText(state, 2);
  const escaped = pattern.match(/%./gs) ?? [];
  if (pattern.includes("\0") || pattern.includes("()") || escaped.some((one) => /%[gG]/.test(one)))
    refuse(state, "does not support a zero byte, () or %g in patterns");
}

/** Pushes a function that calls the function at `index`, and refuses a number as its result. */
function pushChecked(state: LuaState, index: number): void {
  lua.lua_pushvalue(state, index);
  lua.lua_pushcclosure(state, callChecked, 1);
}

function callChecked(state: LuaState): number {
  const count = lua.lua_gettop(state);
  lua.lua_pushvalue(state, lua.lua_upvalueindex(1));
  lua.lua_insert(state, 1);
  lua.lua_call(state, count, 1);
  if (numberAt(state, -1) !== undefined) refuse(state, "takes no number in place of a text");
  return 1;
}

/** Converts the integers among this many results to floats, because fengari calculates with integers modulo 2^32. */
function asFloats(state: LuaState, count: number): number {
  const top = lua.lua_gettop(state);
  lauxlib.luaL_checkstack(state, 1, null);
  for (let at = top - count + 1; at <= top; at += 1) {
    const number = numberAt(state, at);
    if (number === undefined) continue;
    lua.lua_pushnumber(state, number);
    lua.lua_replace(state, at);
  }
  return count;
}
