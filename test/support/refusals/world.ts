import type { Redis } from "ioredis";
import type { ScriptName } from "../all-scripts.js";
import { type RedisServer, startRedis } from "../servers/redis-server.js";
import { commandsOf, knownCommands, type Outcome, Refusals, scenarios, USER } from "./refusals.js";
import type { Scenario } from "./scenario.js";
import type { Control } from "./snapshots.js";

export const scriptNames = Object.keys(scenarios) as readonly ScriptName[];

/** The name of a renamed command. */
const HIDDEN = "HIDDEN";

/** A call of which one command is refused. */
export interface Cell {
  readonly scenario: Scenario;
  readonly command: string;
  readonly outcome: Outcome;
}

/** A server with a user who lacks rights. */
export class RefusalWorld {
  readonly server: RedisServer;
  readonly admin: Redis;
  readonly refusals: Refusals;
  readonly #known: ReadonlySet<string>;

  private constructor(server: RedisServer, admin: Redis, known: ReadonlySet<string>, renamed?: string) {
    this.server = server;
    this.admin = admin;
    this.#known = known;
    const nameOf = (command: string) => (command === renamed ? HIDDEN : command);
    this.refusals = new Refusals(admin, server.client({ username: USER, password: "any" }), nameOf);
  }

  /** @param renamed a command that only the tests know by its name */
  static async start(renamed?: string): Promise<RefusalWorld> {
    const args = renamed === undefined ? [] : ["--rename-command", renamed, HIDDEN];
    const server = await startRedis({ args });
    const admin = server.client();
    await admin.call("ACL", "SETUSER", USER, "on", "nopass", "~*", "&*", "+@all");
    return new RefusalWorld(server, admin, await knownCommands(admin), renamed);
  }

  commands(name: ScriptName): readonly string[] {
    return commandsOf(name, this.#known);
  }

  /** Refuses each command that a call of a scenario sends. */
  async cells(name: ScriptName, scenario: Scenario, control: NeededControl): Promise<readonly Cell[]> {
    const cells: Cell[] = [];
    for (const command of this.commands(name)) {
      if (!control.commands.includes(command)) continue;
      cells.push({ scenario, command, outcome: await this.refusals.refuse(scenario, command, control) });
    }
    return cells;
  }
}

type NeededControl = Control & { readonly commands: readonly string[] };

export function problemsOf({ scenario, command, outcome }: Cell): readonly string[] {
  return outcome.problems.map((problem) => `${scenario.what}, without ${command}: ${problem}`);
}
