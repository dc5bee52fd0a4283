import type { Ticket } from "../../../src/driver/driver.js";
import type { RawReply, ScriptCall } from "../../../src/protocol/script-call.js";
import { ScriptedDriver } from "./scripted-driver.js";

/** A driver whose server can be away for a while: no call is answered, and none arrives. */
export class OutageDriver extends ScriptedDriver {
  #isAway = false;
  /** The server refuses a script with this, for want of a right. */
  readonly refused = new Map<string, Error>();

  cut(): void {
    this.#isAway = true;
  }

  mend(): void {
    this.#isAway = false;
  }

  override run(call: ScriptCall, ticket: Ticket): Promise<RawReply> {
    const refusal = this.refused.get(call.script.name);
    if (!this.#isAway && refusal === undefined) return super.run(call, ticket);
    this.calls.push({ call, ticket, fault: "away", deliveries: 0 });
    return refusal === undefined ? new Promise(() => undefined) : Promise.reject(refusal);
  }
}
