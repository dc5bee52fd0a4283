import { type LuaState, lauxlib, lua, type StateFunction, to_luastring } from "fengari";
import type { ScriptSource } from "../protocol/script-call.js";
import { arrayOfBytes, bytesOfArray, bytesOfText } from "./byte-strings.js";
import { pushSandbox } from "./lua-sandbox.js";
import { forLua53 } from "./lua-source.js";
import { popReply, pushArray, pushBytes, pushReply, readArguments, readText } from "./lua-values.js";
import { ErrorReply, type Reply } from "./reply.js";

const CHUNK_NAME = "@user_script";

/**
 * This many values always stay at the bottom of the stack. fengari deletes the elements of its stack, and V8 makes an array slow once all
 * its elements were deleted.
 */
const BALLAST = 16;

/** Runs one command for a script; gets the command's name and arguments. */
export type CommandRunner = (words: readonly string[]) => Reply;

/** Redis' Lua: one interpreter, which compiles each script once. */
export class LuaInterpreter {
  readonly #state = lauxlib.luaL_newstate();
  readonly #namesRef: number;
  readonly #functionRefs = new Map<string, number>();
  /** An error that one of our own functions threw: our bug, not an error of the script. */
  #fault: { readonly error: unknown } | undefined;

  constructor(run: CommandRunner) {
    const state = this.#state;
    pushSandbox(state, {
      call: (L) => this.#call(L, run, true),
      pcall: (L) => this.#call(L, run, false),
      // There are no users, so every command is allowed.
      acl_check_cmd: (L) => {
        lua.lua_pushboolean(L, true);
        return 1;
      },
      error_reply: pushSingleFieldTable("err"),
      status_reply: pushSingleFieldTable("ok"),
    });
    this.#namesRef = lauxlib.luaL_ref(state, lua.LUA_REGISTRYINDEX);
    for (let i = 0; i < BALLAST; i++) lua.lua_pushboolean(state, false);
    lua.lua_atnativeerror(state, (L) => {
      this.#fault ??= { error: lua.lua_touserdata(L, 1) };
      return 1;
    });
  }

  /** Keys and arguments are byte strings. */
  run(script: ScriptSource, keys: readonly string[], args: readonly string[]): Reply {
    const state = this.#state;
    try {
      lua.lua_pushjsfunction(state, addPosition);
      const complaint = this.#pushFunction(script);
      if (complaint !== undefined) return new ErrorReply(complaint);
      this.#bind("KEYS", keys);
      this.#bind("ARGV", args);
      const failed = lua.lua_pcall(state, 0, 1, BALLAST + 1) !== lua.LUA_OK;
      if (this.#fault !== undefined) throw this.#fault.error;
      return failed ? this.#refusal(script) : popReply(state);
    } finally {
      this.#fault = undefined;
      lua.lua_settop(state, BALLAST);
    }
  }

  /** Returns the compiler's error message. */
  #pushFunction(script: ScriptSource): string | undefined {
    const state = this.#state;
    const known = this.#functionRefs.get(script.sha1);
    if (known !== undefined) {
      lua.lua_rawgeti(state, lua.LUA_REGISTRYINDEX, known);
      return undefined;
    }
    const complaint = this.#load(script.lua);
    if (complaint !== undefined) return `ERR Error compiling script (new function): ${complaint}`;
    lua.lua_pushvalue(state, -1);
    this.#functionRefs.set(script.sha1, lauxlib.luaL_ref(state, lua.LUA_REGISTRYINDEX));
    return undefined;
  }

  #load(text: string): string | undefined {
    const state = this.#state;
    try {
      const source = arrayOfBytes(bytesOfText(forLua53(text)));
      if (lauxlib.luaL_loadbuffer(state, source, null, to_luastring(CHUNK_NAME)) === lua.LUA_OK)
        return undefined;
      return bytesOfArray(lua.lua_tostring(state, -1));
    } catch (error) {
      if (error instanceof SyntaxError) return error.message;
      throw error;
    }
  }

  #bind(name: string, values: readonly string[]): void {
    const state = this.#state;
    lua.lua_rawgeti(state, lua.LUA_REGISTRYINDEX, this.#namesRef);
    pushArray(state, values);
    lua.lua_setfield(state, -2, to_luastring(name));
    lua.lua_pop(state, 1);
  }

  #call(state: LuaState, run: CommandRunner, raises: boolean): number {
    const words = readArguments(state);
    let reply: Reply;
    if (words === undefined)
      reply = new ErrorReply("ERR Lua redis lib command arguments must be strings or integers");
    else if (words.length === 0)
      reply = new ErrorReply("ERR Please specify at least one argument for this redis lib call");
    else reply = run(words);
    pushReply(state, reply);
    return raises && reply instanceof ErrorReply ? lua.lua_error(state) : 1;
  }

  /** Reads the error that {@link addPosition} has left. */
  #refusal(script: ScriptSource): ErrorReply {
    const message = readText(this.#state, to_luastring("err")) ?? "ERR unknown error";
    const position = readText(this.#state, to_luastring("position"));
    return new ErrorReply(
      position === undefined ? message : `${message} script: ${script.sha1}, on ${position}.`,
    );
  }
}

/** The message handler: turns any error into a table with its text in `err`, and adds the position where it was raised. */
function addPosition(state: LuaState): number {
  if (lua.lua_type(state, 1) !== lua.LUA_TTABLE) {
    const text = bytesOfArray(lauxlib.luaL_tolstring(state, 1));
    pushReply(state, new ErrorReply(`ERR ${text}`));
    lua.lua_replace(state, 1);
  }
  lua.lua_settop(state, 1);
  const activation = new lua.lua_Debug();
  // Level 0 is this function. The error of a command is raised at level 1, by `redis.call`; the script's line is then at level 2.
  for (let level = 1; level <= 2 && lua.lua_getstack(state, level, activation); level++) {
    lua.lua_getinfo(state, to_luastring("Sl"), activation);
    if (activation.currentline < 0) continue;
    pushBytes(state, `${CHUNK_NAME}:${activation.currentline}`);
    lua.lua_setfield(state, 1, to_luastring("position"));
    break;
  }
  return 1;
}

function pushSingleFieldTable(field: string): StateFunction {
  return (state) => {
    const text = bytesOfArray(lauxlib.luaL_checkstring(state, 1)).replace(/^-/, "");
    lua.lua_createtable(state, 0, 1);
    pushBytes(state, text);
    lua.lua_setfield(state, -2, to_luastring(field));
    return 1;
  };
}
