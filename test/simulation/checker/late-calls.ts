import type { ScriptCall } from "../../../src/protocol/script-call.js";
import type { SimServer } from "../world/sim-server.js";
import type { Checker } from "./checker.js";

/** These have as their first argument by when they may change something; 0: whenever they come. */
const WITH_DEADLINE = /^(?:lock|fair|read|write)-(?:acquire|release)$/;

/** Whether a command about a lock arrives after its time: it has waited on its way. */
export function isLate(server: SimServer, { script, args }: ScriptCall): boolean {
  const notAfterMs = Number(args[0]);
  return notAfterMs > 0 && Math.floor(server.timeMs) > notAfterMs && WITH_DEADLINE.test(script.name);
}

/** A command about a lock that arrives after its time changes nothing. */
export class LateCalls {
  readonly #checker: Checker;
  #before: string | undefined;

  constructor(checker: Checker) {
    this.#checker = checker;
  }

  starts(server: SimServer, call: ScriptCall): void {
    this.#before = isLate(server, call) ? stored(server, call) : undefined;
  }

  ran(server: SimServer, call: ScriptCall, by: string): void {
    if (this.#before === undefined || this.#before === stored(server, call)) return;
    const lateMs = Math.floor(server.timeMs) - Number(call.args[0]);
    this.#checker.fail(
      "leftovers",
      `${call.script.name} of ${by} has come ${lateMs} ms too late, and has changed something`,
    );
  }
}

function stored(server: SimServer, { keys }: ScriptCall): string {
  const all = server.keys;
  return JSON.stringify(keys.map((key) => all[key]));
}
