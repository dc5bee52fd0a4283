import { lauxlib, lua, lualib, type State, type StateFunction, to_luastring } from "fengari";
import { luaFunctions, pushJoint } from "./lua-functions.js";
import { JOINT } from "./lua-source.js";

/** What a script finds under its global names, apart from `KEYS`, `ARGV` and `redis`. */
const BASE_NAMES = [
  "assert",
  "error",
  "ipairs",
  "next",
  "pairs",
  "select",
  "type",
  "string",
  "table",
  "math",
];

/** Names that Redis does not have, has otherwise at each run, or that would turn numbers into text of Lua 5.3. */
const LIBRARY_GAPS: Readonly<Record<string, readonly string[]>> = {
  string: ["dump", "pack", "packsize", "unpack"],
  table: ["concat", "move", "pack", "unpack"],
  math: ["random", "randomseed", "tointeger", "type", "ult"],
};

/** Leaves on the stack the table behind the global names, into which `KEYS` and `ARGV` are put at each run. */
export function pushSandbox(state: State, redis: Readonly<Record<string, StateFunction>>): void {
  openLibraries(state);
  lua.lua_createtable(state, 0, 0);
  for (const name of BASE_NAMES) {
    lua.lua_getglobal(state, to_luastring(name));
    lua.lua_setfield(state, -2, to_luastring(name));
  }
  lua.lua_getglobal(state, to_luastring("table"));
  lua.lua_getfield(state, -1, to_luastring("unpack"));
  lua.lua_setfield(state, -3, to_luastring("unpack"));
  lua.lua_pop(state, 1);
  putRedis(state, redis);
  pushJoint(state);
  lua.lua_setfield(state, -2, to_luastring(JOINT));
  replaceFunctions(state);
  leaveGaps(state);
  guardNames(state);
}

function openLibraries(state: State): void {
  const libraries = {
    _G: lualib.luaopen_base,
    string: lualib.luaopen_string,
    table: lualib.luaopen_table,
    math: lualib.luaopen_math,
  };
  for (const [name, open] of Object.entries(libraries)) {
    lauxlib.luaL_requiref(state, to_luastring(name), open, true);
    lua.lua_pop(state, 1);
  }
}

function putRedis(state: State, redis: Readonly<Record<string, StateFunction>>): void {
  lua.lua_createtable(state, 0, 0);
  for (const [name, run] of Object.entries(redis)) {
    lua.lua_pushjsfunction(state, run);
    lua.lua_setfield(state, -2, to_luastring(name));
  }
  lua.lua_setfield(state, -2, to_luastring("redis"));
}

function replaceFunctions(state: State): void {
  for (const [path, run] of Object.entries(luaFunctions)) {
    const [name = "", library] = path.split(".").reverse();
    if (library === undefined) lua.lua_pushvalue(state, -1);
    else lua.lua_getfield(state, -1, to_luastring(library));
    lua.lua_pushjsfunction(state, run);
    lua.lua_setfield(state, -2, to_luastring(name));
    lua.lua_pop(state, 1);
  }
}

function leaveGaps(state: State): void {
  for (const [library, names] of Object.entries(LIBRARY_GAPS)) {
    lua.lua_getfield(state, -1, to_luastring(library));
    for (const name of names) {
      lua.lua_pushnil(state);
      lua.lua_setfield(state, -2, to_luastring(name));
    }
    lua.lua_pop(state, 1);
  }
}

/** Makes an empty table the globals, so that every name that a script reads or writes passes a guard. */
function guardNames(state: State): void {
  lua.lua_createtable(state, 0, 0);
  lua.lua_createtable(state, 0, 2);
  lua.lua_pushvalue(state, -3);
  lua.lua_setfield(state, -2, to_luastring("__index"));
  lua.lua_pushjsfunction(state, refuseWrite);
  lua.lua_setfield(state, -2, to_luastring("__newindex"));
  lua.lua_setmetatable(state, -2);
  lua.lua_rawseti(state, lua.LUA_REGISTRYINDEX, lua.LUA_RIDX_GLOBALS);

  lua.lua_createtable(state, 0, 1);
  lua.lua_pushjsfunction(state, refuseRead);
  lua.lua_setfield(state, -2, to_luastring("__index"));
  lua.lua_setmetatable(state, -2);
}

function refuseRead(state: State): never {
  const name = lua.lua_tostring(state, 2);
  return lauxlib.luaL_error(
    state,
    to_luastring("Script attempted to access nonexistent global variable '%s'"),
    name,
  );
}

function refuseWrite(state: State): never {
  return lauxlib.luaL_error(state, to_luastring("Attempt to modify a readonly table"));
}
