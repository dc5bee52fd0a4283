import { type LuaState, lauxlib, lua, to_luastring } from "fengari";
import { bytesOfArray } from "./byte-strings.js";
import { parseNumber } from "./number-text.js";

const { LUA_TNUMBER, LUA_TSTRING, LUA_TTABLE } = lua;

/** Ends the script: the refused operation gives another result in Lua 5.3 than in 5.1, or on another Redis release or machine. */
export function refuse(state: LuaState, what: string): never {
  return lauxlib.luaL_error(state, to_luastring("the embedded server %s"), to_luastring(what));
}

/** A text as C reads it for numbers: up to its first zero byte, without surrounding white space. */
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

/** Checks for an argument that is a number, or a text of one. */
export function checkNumber(state: LuaState, index: number): number {
  const text = textAt(state, index);
  const number = text === undefined ? undefined : parseNumber(cText(text));
  return number ?? lauxlib.luaL_checknumber(state, index);
}

/** Checks for an argument that is a position or a count. Lua 5.1 cuts off a fraction; 5.3 refuses it. */
export function checkPlace(state: LuaState, index: number): number {
  const number = checkNumber(state, index);
  if (!Number.isSafeInteger(number)) refuse(state, "takes only whole numbers as positions");
  return number;
}

/** A number in place of a text would read "12.0" in Lua 5.3. */
export function checkText(state: LuaState, index: number): string {
  if (numberAt(state, index) !== undefined) refuse(state, "takes no number in place of a text");
  return bytesOfArray(lauxlib.luaL_checkstring(state, index));
}

/** Lua 5.3 also accepts other values that can be indexed. */
export function checkTable(state: LuaState, index: number): void {
  if (lua.lua_type(state, index) === LUA_TTABLE) return;
  lauxlib.luaL_error(state, to_luastring("bad argument #%d (table expected)"), index);
}

/** Machines write NaN with a sign or without. */
export function checkWritten(state: LuaState, number: number): number {
  if (Number.isNaN(number)) refuse(state, "writes no NaN");
  return number;
}
