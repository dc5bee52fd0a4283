import { type LuaState, lauxlib, lua, type StateFunction, to_luastring } from "fengari";
import {
  checkNumber,
  checkPlace,
  checkTable,
  checkWritten,
  cText,
  numberAt,
  refuse,
  textAt,
} from "./lua-arguments.js";
import { pushBytes } from "./lua-values.js";
import { parseNumber, shortNumberText } from "./number-text.js";

const { LUA_TSTRING, LUA_TTABLE } = lua;

/** How many values fit on the stack of Lua 5.1 while it runs a native function. */
const STACK = 8_000;
const MAX_UINT64 = 2n ** 64n - 1n;

/** Functions that Lua 5.1 defines differently from fengari, which is Lua 5.3. Each may call fengari's function of the same name. */
export const luaFunctions: Readonly<Record<string, (of53: StateFunction) => StateFunction>> = {
  tonumber: () => (state) => {
    lauxlib.luaL_checkany(state, 1);
    const base = lua.lua_gettop(state) > 1 ? checkPlace(state, 2) : 10;
    const number = base === 10 ? anyNumber(state, 1) : numberInBase(state, base);
    if (number === undefined) lua.lua_pushnil(state);
    else lua.lua_pushnumber(state, number);
    return 1;
  },

  tostring: () => (state) => {
    lauxlib.luaL_checkany(state, 1);
    const number = numberAt(state, 1);
    const isObject = [LUA_TTABLE, lua.LUA_TFUNCTION].includes(lua.lua_type(state, 1));
    if (isObject) refuse(state, "can not turn a table or a function into text");
    if (number === undefined) lauxlib.luaL_tolstring(state, 1);
    else pushBytes(state, shortNumberText(checkWritten(state, number)));
    return 1;
  },

  /** An error of Redis is a table: the script gets the text in it. */
  pcall: () => (state) => {
    lauxlib.luaL_checkany(state, 1);
    lua.lua_pushboolean(state, true);
    lua.lua_insert(state, 1);
    if (lua.lua_pcall(state, lua.lua_gettop(state) - 2, lua.LUA_MULTRET, 0) === lua.LUA_OK) {
      return lua.lua_gettop(state);
    }
    if (lua.lua_type(state, -1) === LUA_TTABLE) {
      if (lua.lua_getfield(state, -1, to_luastring("err")) === LUA_TSTRING) lua.lua_replace(state, -2);
      else lua.lua_pop(state, 1);
    }
    lua.lua_pushboolean(state, false);
    lua.lua_insert(state, -2);
    return 2;
  },

  ipairs: (of53) => (state) => {
    checkTable(state, 1);
    return of53(state);
  },

  unpack: () => (state) => {
    checkTable(state, 1);
    const given = lua.lua_gettop(state);
    const from = given > 1 ? checkPlace(state, 2) : 1;
    const to = given > 2 ? checkPlace(state, 3) : lauxlib.luaL_len(state, 1);
    const count = Math.max(to - from + 1, 0);
    if (given + count > STACK) lauxlib.luaL_error(state, to_luastring("too many results to unpack"));
    lauxlib.luaL_checkstack(state, count, null);
    for (let at = from; at <= to; at += 1) lua.lua_rawgeti(state, 1, at);
    return count;
  },

  "table.insert": (of53) => (state) => {
    checkTable(state, 1);
    if (lua.lua_gettop(state) > 2) refuse(state, "inserts only at the end");
    return of53(state);
  },

  "math.floor": () => rounding(Math.floor),
  "math.ceil": () => rounding(Math.ceil),
  "math.abs": () => rounding(Math.abs),
  "math.max": () => choosing((best, number) => number > best),
  "math.min": () => choosing((best, number) => number < best),
};

/**
 * Pushes the table that comes between the two operands of a `..`. `..` is evaluated from the right: the table first gets the right operand,
 * stores its text and returns itself; then it gets the left operand.
 */
export function pushJoint(state: LuaState): void {
  let right = "";
  lua.lua_createtable(state, 0, 0);
  lua.lua_createtable(state, 0, 1);
  lua.lua_pushjsfunction(state, (L) => {
    if (lua.lua_type(L, 1) === LUA_TTABLE) {
      right = operandText(L, 2);
      lua.lua_settop(L, 1);
    } else pushBytes(L, operandText(L, 1) + right);
    return 1;
  });
  lua.lua_setfield(state, -2, to_luastring("__concat"));
  lua.lua_setmetatable(state, -2);
}

function operandText(state: LuaState, index: number): string {
  const number = numberAt(state, index);
  if (number !== undefined) return shortNumberText(checkWritten(state, number));
  const text = textAt(state, index);
  if (text !== undefined) return text;
  const type = lua.lua_typename(state, lua.lua_type(state, index));
  return lauxlib.luaL_error(state, to_luastring("attempt to concatenate a %s value"), type);
}

function rounding(round: (number: number) => number): StateFunction {
  return (state) => {
    lua.lua_pushnumber(state, round(checkNumber(state, 1)));
    return 1;
  };
}

/** Converts texts to the numbers that they represent. */
function choosing(isBetter: (best: number, number: number) => boolean): StateFunction {
  return (state) => {
    let best = checkNumber(state, 1);
    for (let at = 2; at <= lua.lua_gettop(state); at += 1) {
      const number = checkNumber(state, at);
      if (isBetter(best, number)) best = number;
    }
    lua.lua_pushnumber(state, best);
    return 1;
  };
}

function anyNumber(state: LuaState, index: number): number | undefined {
  const text = textAt(state, index);
  return text === undefined ? numberAt(state, index) : parseNumber(cText(text));
}

/** Reads a number like C's `strtoul`: a negative number wraps around, and a number that is too large becomes the largest one. */
function numberInBase(state: LuaState, base: number): number | undefined {
  const number = numberAt(state, 1);
  const text = number === undefined ? textAt(state, 1) : shortNumberText(checkWritten(state, number));
  if (text === undefined || base < 2 || base > 36)
    return lauxlib.luaL_error(state, to_luastring("bad argument to 'tonumber'"));
  const [, sign, , digits = ""] = /^([+-]?)(0x(?=[\da-f]))?([\da-z]+)$/.exec(cText(text).toLowerCase()) ?? [];
  let sum = 0n;
  for (const digit of base === 16 || !/^[+-]?0x/.test(cText(text).toLowerCase()) ? digits : "!") {
    const value = Number.parseInt(digit, 36);
    if (!(value < base)) return undefined;
    sum = sum * BigInt(base) + BigInt(value);
  }
  if (digits === "") return undefined;
  if (sum > MAX_UINT64) return Number(MAX_UINT64);
  return Number(sign === "-" && sum > 0n ? MAX_UINT64 + 1n - sum : sum);
}
