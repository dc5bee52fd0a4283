import { lauxlib, lua, to_luastring } from "fengari";

const state = lauxlib.luaL_newstate();

/** @returns what is wrong with a Lua source; undefined when it can be run */
export function luaMistake(source: string): string | undefined {
  const code = lauxlib.luaL_loadbuffer(state, to_luastring(source), null, to_luastring("=script"));
  const mistake = code === lua.LUA_OK ? undefined : new TextDecoder().decode(lua.lua_tostring(state, -1));
  lua.lua_settop(state, 0);
  return mistake;
}
