import { type LuaState, lauxlib, lua, lualib, type StateFunction, to_luastring } from "fengari";
import { bytesOfArray } from "./byte-strings.js";
import { refuse } from "./lua-arguments.js";
import { luaFunctions, pushJoint } from "./lua-functions.js";
import { JOINT } from "./lua-source.js";
import { textFunctions } from "./lua-texts.js";

/** The global names of a script, apart from `KEYS`, `ARGV` and `redis`. */
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

/** Names that exist only in Lua 5.3, or that Redis sets differently at each run. */
const LIBRARY_GAPS: Readonly<Record<string, readonly string[]>> = {
  string: ["pack", "packsize", "unpack"],
  table: ["move", "pack", "unpack"],
  math: ["maxinteger", "mininteger", "random", "randomseed", "tointeger", "type", "ult"],
};

/** Functions of a real server that no script of ours or of Redisson's calls: nothing proves that they would give the same results here. */
const UNKNOWN: Readonly<Record<string, string>> = {
  "": "_G _VERSION arg bit cjson cmsgpack collectgarbage coroutine getmetatable load loadstring os rawequal rawget rawset setmetatable struct xpcall",
  string: "dump gfind lower rep reverse upper",
  table: "concat foreach foreachi getn maxn remove setn sort",
  math: "acos asin atan atan2 cos cosh deg exp fmod frexp ldexp log log10 mod modf pow rad sin sinh sqrt tan tanh",
  redis: "breakpoint debug log replicate_commands set_repl setresp sha1hex",
};

/** Pushes the table of the global names; `KEYS` and `ARGV` are set in it at each run. */
export function pushSandbox(state: LuaState, redis: Readonly<Record<string, StateFunction>>): void {
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
  refuseUnknown(state);
  guardNames(state);
}

function openLibraries(state: LuaState): void {
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

function putRedis(state: LuaState, redis: Readonly<Record<string, StateFunction>>): void {
  lua.lua_createtable(state, 0, 0);
  for (const [name, run] of Object.entries(redis)) {
    lua.lua_pushjsfunction(state, run);
    lua.lua_setfield(state, -2, to_luastring(name));
  }
  lua.lua_setfield(state, -2, to_luastring("redis"));
}

function replaceFunctions(state: LuaState): void {
  const texts = Object.entries(textFunctions).map(([name, replace]) => [`string.${name}`, replace] as const);
  for (const [path, replace] of [...Object.entries(luaFunctions), ...texts]) {
    const [name = "", library] = path.split(".").reverse();
    if (library === undefined) lua.lua_pushvalue(state, -1);
    else lua.lua_getfield(state, -1, to_luastring(library));
    lua.lua_getfield(state, -1, to_luastring(name));
    const of53 = lua.lua_tocfunction(state, -1);
    lua.lua_pop(state, 1);
    lua.lua_pushjsfunction(state, replace(of53));
    lua.lua_setfield(state, -2, to_luastring(name));
    lua.lua_pop(state, 1);
  }
}

function leaveGaps(state: LuaState): void {
  for (const [library, names] of Object.entries(LIBRARY_GAPS)) {
    lua.lua_getfield(state, -1, to_luastring(library));
    for (const name of names) {
      lua.lua_pushnil(state);
      lua.lua_setfield(state, -2, to_luastring(name));
    }
    lua.lua_pop(state, 1);
  }
}

/** Makes calls of the libraries' unknown functions fail. The guard of the global names refuses unknown globals. */
function refuseUnknown(state: LuaState): void {
  for (const [library, names] of Object.entries(UNKNOWN)) {
    if (library === "") continue;
    lua.lua_getfield(state, -1, to_luastring(library));
    for (const name of names.split(" ")) {
      lua.lua_pushjsfunction(state, (L) => refuse(L, `has no ${library}.${name}`));
      lua.lua_setfield(state, -2, to_luastring(name));
    }
    lua.lua_pop(state, 1);
  }
}

/** Gives scripts an empty table of globals, so that a guard sees each name that a script reads or writes. */
function guardNames(state: LuaState): void {
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

function refuseRead(state: LuaState): never {
  const name = lua.lua_tostring(state, 2);
  const text = bytesOfArray(name);
  if (UNKNOWN[""]?.split(" ").includes(text)) refuse(state, `has no ${text}`);
  return lauxlib.luaL_error(
    state,
    to_luastring("Script attempted to access nonexistent global variable '%s'"),
    name,
  );
}

function refuseWrite(state: LuaState): never {
  return lauxlib.luaL_error(state, to_luastring("Attempt to modify a readonly table"));
}
