import { lauxlib, lua, to_luastring } from "fengari";

/** @returns what is wrong with a Lua source; undefined when it can be run */
export function luaMistake(source: string): string | undefined {
  const state = lauxlib.luaL_newstate();
  const code = lauxlib.luaL_loadbuffer(state, to_luastring(source), null, to_luastring("=script"));
  if (code === lua.LUA_OK) return undefined;
  return new TextDecoder().decode(lua.lua_tostring(state, -1));
}
