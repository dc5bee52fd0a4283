import { type LuaState, lauxlib, lua, to_luastring } from "fengari";
import { bytesOfArray } from "./byte-strings.js";
import { parseNumber } from "./number-text.js";

const { LUA_TNUMBER, LUA_TSTRING, LUA_TTABLE } = lua;

/** Ends the script, because the result of the operation depends on the version of Lua (5.1 or 5.3), the release of Redis or the machine. */
export function refuse(state: LuaState, what: string): never {
  return lauxlib.luaL_error(state, to_luastring("the embedded server %s"), to_luastring(what));
}

/** The part of a text that C reads as a number: up to the first zero byte, without surrounding white space. */
export function cText(text: string): string {
  return text.replace(/\0.*$/s, "").replace(/^[ \t\n\v\f\r]+|[ \t\n\v\f\r]+$/g, "");
}

export function textAt(state: LuaState, index: number): string | undefined {
  return lua.lua_type(state, index) === LUA_TSTRING
    ? bytesOfArray(lua.lua_tostring(state, index))
    : undefined;
}

export function numberAt(state: LuaState, index: number): number | undefined {
  return lua.lua_type(state, index) === LUA_TNUMBER ? lua.lua_tonumber(state, index) : undefined;
}

/** Checks that an argument is a number, or a text that represents a number. */
export function checkNumber(state: LuaState, index: number): number {
  const text = textAt(state, index);
  const number = text === undefined ? undefined : parseNumber(cText(text));
  return number ?? lauxlib.luaL_checknumber(state, index);
}

/** Checks that an argument is a position or a count. Lua 5.1 cuts off a fraction; 5.3 refuses it. */
export function checkPlace(state: LuaState, index: number): number {
  const number = checkNumber(state, index);
  if (!Number.isSafeInteger(number)) refuse(state, "takes only whole numbers as positions");
  return number;
}

/** Refuses a number, which Lua 5.3 would convert to a text such as "12.0". */
export function checkText(state: LuaState, index: number): string {
  if (numberAt(state, index) !== undefined) refuse(state, "takes no number in place of a text");
  return bytesOfArray(lauxlib.luaL_checkstring(state, index));
}

/** Lua 5.3 also accepts other values that can be indexed. */
export function checkTable(state: LuaState, index: number): void {
  if (lua.lua_type(state, index) === LUA_TTABLE) return;
  lauxlib.luaL_error(state, to_luastring("bad argument #%d (table expected)"), index);
}

/** Refuses NaN: some machines write it with a sign, others without. */
export function checkWritten(state: LuaState, number: number): number {
  if (Number.isNaN(number)) refuse(state, "writes no NaN");
  return number;
}
