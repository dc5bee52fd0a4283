import type { Clock } from "../../../src/clock.js";
import type { Driver, DriverTraits, Unsubscribe } from "../../../src/driver/driver.js";
import type { RawReply, ScriptCall } from "../../../src/protocol/script-call.js";

/** The word with which a script says that it did what it was asked for. */
const YES: Readonly<Record<string, string>> = {
  "lock-acquire": "held",
  "lock-release": "released",
  "lock-renew": "renewed",
};

/** Agrees to everything at once and stores nothing: for tests of so many locks that no server is fast enough. */
export class AgreeingDriver implements Driver {
  readonly traits: DriverTraits = { server: "agreeing", topology: "memory" };
  readonly resets = 0;
  /** How many keys each call of a script had, in the order of the calls. */
  readonly keyCounts: Readonly<Record<string, number[]>> = {
    "lock-acquire": [],
    "lock-release": [],
    "lock-renew": [],
  };
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async run({ script, keys }: ScriptCall): Promise<RawReply> {
    const serverMs = this.#clock.wallMs();
    if (script.name === "server-probe") return [serverMs, "7.2.0"];
    const yes = YES[script.name];
    if (yes === undefined) throw new Error(`${script.name} was not expected`);
    this.keyCounts[script.name]?.push(keys.length);
    return [serverMs, ...keys.map(() => [yes])];
  }

  async subscribe(): Promise<Unsubscribe> {
    throw new Error("nobody has to wait for a lock that is always free");
  }

  async close(): Promise<void> {
    // Nothing is open.
  }
}
