import { type LuaState, lauxlib, lua, to_luastring } from "fengari";
import { arrayOfBytes, bytesOfArray } from "./byte-strings.js";
import { refuse } from "./lua-arguments.js";
import { ErrorReply, type Reply, Status } from "./reply.js";

const { LUA_TBOOLEAN, LUA_TNUMBER, LUA_TSTRING, LUA_TTABLE } = lua;

const OK_FIELD = to_luastring("ok");
const ERR_FIELD = to_luastring("err");
const RESP3_FIELDS = ["double", "map", "set", "big_number", "verbatim_string"].map((name) =>
  to_luastring(name),
);

/** A reply with deeper nesting is taken for a table that contains itself. */
const MAX_DEPTH = 100;

/** Pushes Redis' answer as Lua sees it: nil is false; statuses and errors are tables with one field. */
export function pushReply(state: LuaState, reply: Reply): void {
  if (typeof reply === "string") pushBytes(state, reply);
  else if (typeof reply === "number") lua.lua_pushnumber(state, reply);
  else if (reply === null) lua.lua_pushboolean(state, false);
  else if (reply instanceof Status) pushRecord(state, OK_FIELD, reply.text);
  else if (reply instanceof ErrorReply) pushRecord(state, ERR_FIELD, reply.message);
  else pushArray(state, reply);
}

export function pushArray(state: LuaState, items: readonly Reply[]): void {
  lauxlib.luaL_checkstack(state, 2, null);
  lua.lua_createtable(state, items.length, 0);
  items.forEach((item, at) => {
    pushReply(state, item);
    lua.lua_rawseti(state, -2, at + 1);
  });
}

export function pushBytes(state: LuaState, bytes: string): void {
  lua.lua_pushstring(state, arrayOfBytes(bytes));
}

/** Pops a value off the stack and makes it a reply: numbers lose their fraction, and nil ends an array. */
export function popReply(state: LuaState, depth = 0): Reply {
  const reply = readReply(state, depth);
  lua.lua_pop(state, 1);
  return reply;
}

/** The arguments of `redis.call` as Redis takes them; undefined if an argument is neither a string nor a number. */
export function readArguments(state: LuaState): string[] | undefined {
  const count = lua.lua_gettop(state);
  const words: string[] = [];
  for (let index = 1; index <= count; index++) {
    const type = lua.lua_type(state, index);
    if (type === LUA_TSTRING) words.push(bytesOfArray(lua.lua_tostring(state, index)));
    else if (type === LUA_TNUMBER) words.push(wholeNumberText(state, lua.lua_tonumber(state, index)));
    else return undefined;
  }
  return words;
}

/** Refuses numbers that are not whole: Redis 7.0 writes them by `%.17g`, and later releases in their shortest form. */
function wholeNumberText(state: LuaState, number: number): string {
  if (!Number.isInteger(number) || Math.abs(number) > 2 ** 53 || Object.is(number, -0))
    refuse(state, "passes only whole numbers up to 2^53 to Redis");
  return `${number}`;
}

function readReply(state: LuaState, depth: number): Reply {
  switch (lua.lua_type(state, -1)) {
    case LUA_TSTRING:
      return bytesOfArray(lua.lua_tostring(state, -1));
    case LUA_TNUMBER:
      return wholeNumber(lua.lua_tonumber(state, -1));
    case LUA_TBOOLEAN:
      return lua.lua_toboolean(state, -1) ? 1 : null;
    case LUA_TTABLE:
      return readTable(state, depth);
    default:
      return null;
  }
}

/** Refuses a number beyond 64 bits, for which the answer would depend on the machine. */
function wholeNumber(number: number): number | ErrorReply {
  if (!(Math.abs(number) < 2 ** 63))
    return new ErrorReply("ERR the embedded server answers no number beyond 64 bits");
  // Adding 0 turns the -0 of a negative fraction into 0.
  return Math.trunc(number) + 0;
}

function readTable(state: LuaState, depth: number): Reply {
  if (depth > MAX_DEPTH) return new ErrorReply("ERR reached lua stack limit");
  const error = readText(state, ERR_FIELD);
  if (error !== undefined) return new ErrorReply(lineOf(error));
  const status = readText(state, OK_FIELD);
  if (status !== undefined) return new Status(lineOf(status));
  if (RESP3_FIELDS.some((field) => hasField(state, field)))
    return new ErrorReply("ERR the embedded server answers no types of RESP3");
  const items: Reply[] = [];
  lauxlib.luaL_checkstack(state, 2, null);
  while (lua.lua_rawgeti(state, -1, items.length + 1) !== lua.LUA_TNIL)
    items.push(popReply(state, depth + 1));
  lua.lua_pop(state, 1);
  return items;
}

/** Errors and statuses are C strings, on one line of the protocol. */
function lineOf(text: string): string {
  return text.replace(/\0.*$/s, "").replace(/[\r\n]/g, " ");
}

function hasField(state: LuaState, field: Uint8Array): boolean {
  const is = lua.lua_getfield(state, -1, field) !== lua.LUA_TNIL;
  lua.lua_pop(state, 1);
  return is;
}

/** A field of the table on top of the stack, if it is a string. */
export function readText(state: LuaState, field: Uint8Array): string | undefined {
  const isString = lua.lua_getfield(state, -1, field) === LUA_TSTRING;
  const text = isString ? bytesOfArray(lua.lua_tostring(state, -1)) : undefined;
  lua.lua_pop(state, 1);
  return text;
}

function pushRecord(state: LuaState, field: Uint8Array, text: string): void {
  lua.lua_createtable(state, 0, 1);
  pushBytes(state, text);
  lua.lua_setfield(state, -2, field);
}
