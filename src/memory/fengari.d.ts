/** The part of fengari that the embedded server uses; the package brings no types. Lua strings are byte arrays. */
declare module "fengari" {
  /** A Lua state, which only fengari looks into. */
  export interface State {
    readonly l_G: object;
  }

  /** A function that Lua can call: arguments on the stack, returns how many results it has pushed. */
  export type StateFunction = (state: State) => number;

  /** Where an active function stands. */
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
    lua_atnativeerror(state: State, handler: StateFunction): void;
    lua_call(state: State, argumentCount: number, resultCount: number): void;
    lua_createtable(state: State, arraySize: number, recordSize: number): void;
    /** Never returns. */
    lua_error(state: State): never;
    lua_getfield(state: State, index: number, name: Uint8Array): number;
    lua_getglobal(state: State, name: Uint8Array): number;
    lua_getinfo(state: State, what: Uint8Array, activation: Activation): number;
    lua_getstack(state: State, level: number, activation: Activation): number;
    lua_gettop(state: State): number;
    lua_insert(state: State, index: number): void;
    lua_pcall(state: State, argumentCount: number, resultCount: number, handlerIndex: number): number;
    lua_pop(state: State, count: number): void;
    lua_pushboolean(state: State, value: boolean): void;
    /** A function with so many values from the stack, which it finds at {@link lua_upvalueindex}. */
    lua_pushcclosure(state: State, value: StateFunction, valueCount: number): void;
    lua_pushjsfunction(state: State, value: StateFunction): void;
    lua_pushnil(state: State): void;
    lua_pushnumber(state: State, value: number): void;
    /** Copies the bytes. */
    lua_pushstring(state: State, bytes: Uint8Array): void;
    lua_pushvalue(state: State, index: number): void;
    lua_rawgeti(state: State, index: number, key: number): number;
    lua_rawseti(state: State, index: number, key: number): void;
    lua_replace(state: State, index: number): void;
    lua_setfield(state: State, index: number, name: Uint8Array): void;
    lua_setmetatable(state: State, index: number): void;
    lua_settop(state: State, index: number): void;
    lua_toboolean(state: State, index: number): boolean;
    lua_tonumber(state: State, index: number): number;
    lua_tostring(state: State, index: number): Uint8Array;
    lua_touserdata(state: State, index: number): unknown;
    lua_type(state: State, index: number): number;
    lua_upvalueindex(at: number): number;
    lua_tocfunction(state: State, index: number): StateFunction;
    lua_typename(state: State, type: number): Uint8Array;
  }

  interface AuxiliaryLibrary {
    luaL_checkany(state: State, argument: number): void;
    luaL_checknumber(state: State, argument: number): number;
    luaL_checkstack(state: State, size: number, complaint: Uint8Array | null): void;
    luaL_checkstring(state: State, argument: number): Uint8Array;
    luaL_error(state: State, format: Uint8Array, ...args: unknown[]): never;
    luaL_len(state: State, index: number): number;
    luaL_loadbuffer(state: State, source: Uint8Array, size: number | null, name: Uint8Array): number;
    luaL_newstate(): State;
    luaL_ref(state: State, index: number): number;
    luaL_requiref(state: State, name: Uint8Array, open: StateFunction, global: boolean): void;
    luaL_tolstring(state: State, index: number): Uint8Array;
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
