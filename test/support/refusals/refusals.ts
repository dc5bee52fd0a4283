import type { Redis } from "ioredis";
import { type ScriptName, sources } from "../all-scripts.js";
import { countScenarios } from "./count-scenarios.js";
import { lockScenarios } from "./lock-scenarios.js";
import { prepare, type Scenario } from "./scenario.js";
import { broken, type Control, differentEffect, snapshot } from "./snapshots.js";

/** What each script is called for here. A script without scenarios does not compile. */
export const scenarios: Readonly<Record<ScriptName, readonly Scenario[]>> = {
  ...lockScenarios,
  ...countScenarios,
};

/** A user whose rights {@link Refusals} changes. */
export const USER = "refused";

/** The commands that a script names, of those that the server knows. */
export function commandsOf(name: ScriptName, known: ReadonlySet<string>): readonly string[] {
  const words = [...sources[name].lua.matchAll(/"([A-Z]{3,})"/g)].map(([, word = ""]) => word);
  return [...new Set(words)].filter((word) => known.has(word)).sort();
}

/** The names of all commands that a server knows. */
export async function knownCommands(admin: Redis): Promise<ReadonlySet<string>> {
  const all = (await admin.call("COMMAND")) as readonly (readonly [name: string])[];
  return new Set(all.map(([name]) => name.toUpperCase()));
}

/** What has become of a call of which one command is refused. */
export interface Outcome {
  /** The error; undefined where the call was answered. */
  readonly error: string | undefined;
  /** Whether the call has changed something, but not what it would have, or what a repeat with all rights can not make up for. */
  readonly isInPart: boolean;
  /** What stands against the promises. */
  readonly problems: readonly string[];
}

/** Calls scripts for a user who lacks a right. */
export class Refusals {
  readonly #admin: Redis;
  readonly #user: Redis;
  readonly #nameOf: ((command: string) => string) | undefined;

  /**
   * @param user a connection of {@link USER}
   * @param nameOf what the server calls a command, where it was renamed
   */
  constructor(admin: Redis, user: Redis, nameOf?: (command: string) => string) {
    this.#admin = admin;
    this.#user = user;
    this.#nameOf = nameOf;
  }

  /** What a call does without a refusal, and which commands it needs. */
  async control(scenario: Scenario): Promise<Control & { readonly commands: readonly string[] }> {
    await this.#rights("+@all");
    const nowMs = await this.#prepare(scenario);
    const before = await snapshot(this.#admin);
    await this.#admin.config("RESETSTAT");
    const error = await this.#call(scenario, nowMs);
    if (error !== undefined) throw new Error(`${scenario.what}: ${error}`);
    const stats = await this.#admin.info("commandstats");
    const called = [...stats.matchAll(/^cmdstat_([a-z]+)/gm)].map(([, name = ""]) => name.toUpperCase());
    return { before, after: await snapshot(this.#admin), commands: [...new Set(called)] };
  }

  /** Calls a scenario with one command refused, three times, and then with all rights. */
  async refuse(scenario: Scenario, command: string, control: Control): Promise<Outcome> {
    const nowMs = await this.#prepare(scenario);
    await this.#rights("+@all", `-${command.toLowerCase()}`);
    const error = await this.#call(scenario, nowMs);
    const once = await snapshot(this.#admin);
    await this.#call(scenario, nowMs);
    await this.#call(scenario, nowMs);
    const often = await snapshot(this.#admin);
    await this.#rights("+@all");
    const failure = await this.#call(scenario, nowMs);
    const atLast = await snapshot(this.#admin);
    const problems = [...broken(once, control, scenario), ...broken(often, control, scenario)];
    if (failure !== undefined) problems.push(`with all rights: ${failure}`);
    const isUnchanged = differentEffect(once, control.before).length === 0;
    const isDone = error === undefined && differentEffect(once, control.after).length === 0;
    const isMadeUpFor = differentEffect(atLast, control.after).length === 0;
    const isInPart = !(isUnchanged || isDone) || !isMadeUpFor;
    return { error, isInPart, problems: [...new Set(problems)] };
  }

  /**
   * Gives a user without rights one command after the other, each time the one that was refused, until the call is answered.
   * @returns what stood against the promises on the way
   */
  async trial(scenario: Scenario, commands: readonly string[], control: Control): Promise<readonly string[]> {
    const nowMs = await this.#prepare(scenario);
    const problems: string[] = [];
    const given: string[] = [];
    for (;;) {
      await this.#rights("-@all", "+eval", ...given.map((command) => `+${command.toLowerCase()}`));
      await this.#admin.call("ACL", "LOG", "RESET");
      const error = await this.#call(scenario, nowMs);
      const before = `with ${given.join(" ")}`;
      for (const problem of broken(await snapshot(this.#admin), control, scenario)) {
        problems.push(`${before}: ${problem}`);
      }
      if (error === undefined) return problems;
      const next = (await this.#logged()).find((name) => commands.includes(name) && !given.includes(name));
      if (next === undefined) return [...problems, `${before}: ${error}`];
      given.push(next);
    }
  }

  /** Calls a scenario three times on a server that lacks one of its commands. @returns what stood against the promises */
  async without(scenario: Scenario, control: Control): Promise<readonly string[]> {
    const nowMs = await this.#prepare(scenario);
    await this.#call(scenario, nowMs);
    const once = await snapshot(this.#admin);
    await this.#call(scenario, nowMs);
    await this.#call(scenario, nowMs);
    return [...broken(once, control, scenario), ...broken(await snapshot(this.#admin), control, scenario)];
  }

  /** Calls a scenario while the server takes no writes. @returns what stood against the promises */
  async whileRefusing(scenario: Scenario, control: Control, state: ServerState): Promise<readonly string[]> {
    const nowMs = await this.#prepare(scenario);
    await state.begin();
    const errors = [await this.#call(scenario, nowMs), await this.#call(scenario, nowMs)];
    const now = await snapshot(this.#admin);
    await state.end();
    const changed = differentEffect(now, control.before);
    const isHalf = errors.every((error) => error !== undefined) && changed.length > 0;
    const problems = [...broken(now, control, scenario)];
    if (isHalf) problems.push(`${errors[0]}, but it has changed ${changed.join(", ")}`);
    return problems;
  }

  async #prepare(scenario: Scenario): Promise<number> {
    const [seconds = 0] = (await this.#admin.time()).map(Number);
    await prepare(this.#admin, scenario, seconds * 1_000, this.#nameOf);
    return seconds * 1_000;
  }

  #rights(...rules: readonly string[]): Promise<unknown> {
    return this.#admin.call("ACL", "SETUSER", USER, "reset", "on", "nopass", "~*", "&*", ...rules);
  }

  /** The commands that were refused, the latest first. */
  async #logged(): Promise<readonly string[]> {
    const entries = (await this.#admin.call("ACL", "LOG")) as readonly (readonly unknown[])[];
    return entries.map((entry) =>
      String(entry[entry.indexOf("object") + 1])
        .toUpperCase()
        .replace(/\|.*/, ""),
    );
  }

  /** Returns the error. */
  async #call(scenario: Scenario, nowMs: number): Promise<string | undefined> {
    const { script, keys, args } = scenario.call(nowMs);
    try {
      return refusalIn(await this.#user.eval(script.lua, keys.length, ...keys, ...args));
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }
}

/** What makes a server refuse writes for a while. */
export interface ServerState {
  begin(): Promise<unknown>;
  end(): Promise<unknown>;
}

/** The message of an answer "refused". */
function refusalIn(reply: unknown): string | undefined {
  if (!Array.isArray(reply)) return undefined;
  if (reply[0] === "refused") return String(reply[1]);
  return reply.map(refusalIn).find((found) => found !== undefined);
}
