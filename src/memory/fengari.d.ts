/** The part of fengari that the embedded server uses; the package has no types. Lua strings are byte arrays. */
declare module "fengari" {
  /** An opaque Lua state. */
  export interface LuaState {
    readonly l_G: object;
  }

  /** A function that Lua can call: takes its arguments from the stack, and returns how many results it has pushed. */
  export type StateFunction = (state: LuaState) => number;

  /** The position of an active function. */
  export interface Activation {
    readonly currentline: number;
  }

  interface Lua {
    readonly LUA_OK: number;
    readonly LUA_MULTRET: number;
    readonly LUA_REGISTRYINDEX: number;
    readonly LUA_RIDX_GLOBALS: number;
    readonly LUA_TNIL: number;
    readonly LUA_TBOOLEAN: number;
    readonly LUA_TNUMBER: number;
    readonly LUA_TSTRING: number;
    readonly LUA_TTABLE: number;
    readonly LUA_TFUNCTION: number;
    readonly lua_Debug: new () => Activation;
    lua_atnativeerror(state: LuaState, handler: StateFunction): void;
    lua_call(state: LuaState, argumentCount: number, resultCount: number): void;
    lua_createtable(state: LuaState, arraySize: number, recordSize: number): void;
    /** Never returns. */
    lua_error(state: LuaState): never;
    lua_getfield(state: LuaState, index: number, name: Uint8Array): number;
    lua_getglobal(state: LuaState, name: Uint8Array): number;
    lua_getinfo(state: LuaState, what: Uint8Array, activation: Activation): number;
    lua_getstack(state: LuaState, level: number, activation: Activation): number;
    lua_gettop(state: LuaState): number;
    lua_insert(state: LuaState, index: number): void;
    lua_pcall(state: LuaState, argumentCount: number, resultCount: number, handlerIndex: number): number;
    lua_pop(state: LuaState, count: number): void;
    lua_pushboolean(state: LuaState, value: boolean): void;
    /** Takes this many values from the stack and stores them with the function, which finds them at {@link lua_upvalueindex}. */
    lua_pushcclosure(state: LuaState, value: StateFunction, valueCount: number): void;
    lua_pushjsfunction(state: LuaState, value: StateFunction): void;
    lua_pushnil(state: LuaState): void;
    lua_pushnumber(state: LuaState, value: number): void;
    /** Copies the bytes. */
    lua_pushstring(state: LuaState, bytes: Uint8Array): void;
    lua_pushvalue(state: LuaState, index: number): void;
    lua_rawgeti(state: LuaState, index: number, key: number): number;
    lua_rawseti(state: LuaState, index: number, key: number): void;
    lua_replace(state: LuaState, index: number): void;
    lua_setfield(state: LuaState, index: number, name: Uint8Array): void;
    lua_setmetatable(state: LuaState, index: number): void;
    lua_settop(state: LuaState, index: number): void;
    lua_toboolean(state: LuaState, index: number): boolean;
    lua_tonumber(state: LuaState, index: number): number;
    lua_tostring(state: LuaState, index: number): Uint8Array;
    lua_touserdata(state: LuaState, index: number): unknown;
    lua_type(state: LuaState, index: number): number;
    lua_upvalueindex(at: number): number;
    lua_tocfunction(state: LuaState, index: number): StateFunction;
    lua_typename(state: LuaState, type: number): Uint8Array;
  }

  interface AuxiliaryLibrary {
    luaL_checkany(state: LuaState, argument: number): void;
    luaL_checknumber(state: LuaState, argument: number): number;
    luaL_checkstack(state: LuaState, size: number, complaint: Uint8Array | null): void;
    luaL_checkstring(state: LuaState, argument: number): Uint8Array;
    luaL_error(state: LuaState, format: Uint8Array, ...args: unknown[]): never;
    luaL_len(state: LuaState, index: number): number;
    luaL_loadbuffer(state: LuaState, source: Uint8Array, size: number | null, name: Uint8Array): number;
    luaL_newstate(): LuaState;
    luaL_ref(state: LuaState, index: number): number;
    luaL_requiref(state: LuaState, name: Uint8Array, open: StateFunction, global: boolean): void;
    luaL_tolstring(state: LuaState, index: number): Uint8Array;
  }

  interface StandardLibraries {
    readonly luaopen_base: StateFunction;
    readonly luaopen_math: StateFunction;
    readonly luaopen_string: StateFunction;
    readonly luaopen_table: StateFunction;
  }

  export const lua: Lua;
  export const lauxlib: AuxiliaryLibrary;
  export const lualib: StandardLibraries;
  export function to_luastring(text: string): Uint8Array;
}
