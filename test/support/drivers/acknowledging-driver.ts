import type { Driver, ReplicaDemand, ReplicatedReply, Ticket } from "../../../src/driver/driver.js";
import type { ScriptCall } from "../../../src/protocol/script-call.js";
import { ScriptedDriver } from "./scripted-driver.js";

/** A driver of a server with replicas, which acknowledge as the test says. */
export class AcknowledgingDriver extends ScriptedDriver {
  /** The scripts for which replicas were asked, and what was wanted of them. */
  readonly asked: { readonly script: string; readonly demand: ReplicaDemand }[] = [];
  /** How many have what is written, and how many are wanted. */
  acknowledged = 1;
  wanted = 1;
  /** Rejects each call for replicas before anything is sent. */
  refusal: Error | undefined;
  override readonly runReplicated = async (
    call: ScriptCall,
    ticket: Ticket,
    demand: ReplicaDemand,
  ): Promise<ReplicatedReply> => {
    this.asked.push({ script: call.script.name, demand });
    if (this.refusal !== undefined) throw this.refusal;
    const reply = await this.run(call, ticket);
    return { reply, acknowledged: this.acknowledged, wanted: this.wanted };
  };
  readonly #place: { now: string };
  override readonly placeOf = (): string => this.#place.now;

  /** @param place of the server that answers */
  constructor(inner: Driver, place: { now: string } = { now: "" }) {
    super(inner);
    this.#place = place;
  }

  /** The scripts for which replicas were asked since the last look. */
  demanded(): string[] {
    return this.asked.splice(0).map(({ script }) => script);
  }
}

/** A driver that says to be of another topology than the embedded server. */
export function ofTopology(driver: Driver, topology: Driver["traits"]["topology"]): Driver {
  return new Proxy(driver, {
    get: (target, name) => {
      if (name === "traits") return { ...target.traits, topology };
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
