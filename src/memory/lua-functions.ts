import { lauxlib, lua, type State, type StateFunction, to_luastring } from "fengari";
import { bytesOfArray } from "./byte-strings.js";
import { pushBytes } from "./lua-values.js";
import { parseNumber, shortNumberText, wholeText } from "./number-text.js";

const { LUA_TNUMBER, LUA_TSTRING, LUA_TTABLE } = lua;

/** Functions of Lua 5.1 that behave differently in fengari, which is Lua 5.3. */
export const luaFunctions: Readonly<Record<string, StateFunction>> = {
  tonumber(state) {
    lauxlib.luaL_checkany(state, 1);
    const base = lauxlib.luaL_optinteger(state, 2, 10);
    const number =
      base === 10 && lua.lua_type(state, 1) === LUA_TNUMBER
        ? lua.lua_tonumber(state, 1)
        : numberOf(readString(state, 1), base);
    if (number === undefined) lua.lua_pushnil(state);
    else lua.lua_pushnumber(state, number);
    return 1;
  },

  tostring(state) {
    lauxlib.luaL_checkany(state, 1);
    const number = numberAt(state, 1);
    if (number === undefined) lauxlib.luaL_tolstring(state, 1);
    else pushBytes(state, shortNumberText(number));
    return 1;
  },

  /** An error of Redis, which is a table, becomes its text. */
  pcall(state) {
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

  "math.floor": rounding(Math.floor),
  "math.ceil": rounding(Math.ceil),
  "math.max": choosing((best, number) => number > best),
  "math.min": choosing((best, number) => number < best),

  /** Scripts turn numbers into text by `%.0f` alone and put texts in by `%s`, so nothing else is understood. */
  "string.format"(state) {
    let argument = 1;
    const format = bytesOfArray(lauxlib.luaL_checkstring(state, 1));
    const text = format.replace(/%(\.0f|s|.?)/gs, (_, verb) => {
      argument += 1;
      if (verb === ".0f") return wholeText(lauxlib.luaL_checknumber(state, argument));
      if (verb === "s" && lua.lua_type(state, argument) === LUA_TSTRING) {
        return bytesOfArray(lauxlib.luaL_checkstring(state, argument));
      }
      return lauxlib.luaL_error(
        state,
        to_luastring('the only formats are "%%.0f" for numbers and "%%s" for texts'),
      );
    });
    pushBytes(state, text);
    return 1;
  },
};

/**
 * Pushes the table that comes between the two operands of a `..`. `..` is evaluated from the right: the table first gets its right
 * operand, keeps the text of that and returns itself, and then gets its left operand.
 */
export function pushJoint(state: State): void {
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

function operandText(state: State, index: number): string {
  const number = numberAt(state, index);
  if (number !== undefined) return shortNumberText(number);
  const text = readString(state, index);
  if (text !== undefined) return text;
  const type = lua.lua_typename(state, lua.lua_type(state, index));
  return lauxlib.luaL_error(state, to_luastring("attempt to concatenate a %s value"), type);
}

function numberAt(state: State, index: number): number | undefined {
  return lua.lua_type(state, index) === LUA_TNUMBER ? lua.lua_tonumber(state, index) : undefined;
}

function rounding(round: (number: number) => number): StateFunction {
  return (state) => {
    lua.lua_pushnumber(state, round(lauxlib.luaL_checknumber(state, 1)));
    return 1;
  };
}

/** Takes texts for the numbers that they are. */
function choosing(isBetter: (best: number, number: number) => boolean): StateFunction {
  return (state) => {
    let best = lauxlib.luaL_checknumber(state, 1);
    for (let at = 2; at <= lua.lua_gettop(state); at += 1) {
      const number = lauxlib.luaL_checknumber(state, at);
      if (isBetter(best, number)) best = number;
    }
    lua.lua_pushnumber(state, best);
    return 1;
  };
}

function numberOf(text: string | undefined, base: number): number | undefined {
  if (text === undefined) return undefined;
  const trimmed = text.replace(/^[ \t\n\v\f\r]+|[ \t\n\v\f\r]+$/g, "");
  if (base === 10) return parseNumber(trimmed);
  const number = Number.parseInt(trimmed, base);
  return number.toString(base) === trimmed.toLowerCase().replace(/^0+(?=.)/, "") ? number : undefined;
}

function readString(state: State, index: number): string | undefined {
  return lua.lua_type(state, index) === LUA_TSTRING
    ? bytesOfArray(lua.lua_tostring(state, index))
    : undefined;
}
