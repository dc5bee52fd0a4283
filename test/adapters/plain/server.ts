import type { ClientEvents, ClientPort } from "../../../src/driver/client-port.js";
import type { DriverTraits, PubSubFamily } from "../../../src/driver/driver.js";
import { type ScriptCommand, wordsOf } from "../../../src/driver/known-scripts.js";
import type { ConnectionEvents, OwnConnection } from "../../../src/driver/own/connection.js";
import { MasterCalls, type Masters } from "../../../src/driver/own/master-calls.js";
import type { RawReply, ScriptCall } from "../../../src/protocol/script-call.js";
import { inRootContext } from "../../../src/root-context.js";
import { type Plain, serverName } from "./client.js";
import { openConnection } from "./connections.js";
import { fromPlain } from "./errors.js";

const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 2_000;

/** One server. */
export class PlainServerPort implements ClientPort, Masters {
  readonly traits: DriverTraits;
  readonly calls: MasterCalls = new MasterCalls(this);
  readonly toError: ClientPort["toError"] = fromPlain;
  resets = 0;
  outage: Error | undefined;
  readonly #client: Plain;
  readonly #events: ClientEvents;

  constructor(client: Plain, events: ClientEvents) {
    this.traits = { server: serverName(client), topology: "standalone" };
    this.#client = client;
    this.#events = events;
    client.on("ready", this.#onReady);
    client.on("lost", this.#onLost);
  }

  get notOpen(): string | undefined {
    return this.#client.ended ? "the client has ended" : undefined;
  }

  /** The first command connects, for longer than this call lasts. */
  send(command: ScriptCommand, call: ScriptCall): Promise<RawReply> {
    return inRootContext(() => this.#client.send(wordsOf(command, call)) as Promise<RawReply>);
  }

  retryDelayMs(failures: number): number {
    return Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), LONGEST_RETRY_MS);
  }

  open(_: string, __: PubSubFamily, events: ConnectionEvents): OwnConnection {
    return openConnection(this.#client, events);
  }

  async close(): Promise<void> {
    this.#client.off("ready", this.#onReady);
    this.#client.off("lost", this.#onLost);
  }

  readonly #onReady = () => {
    this.outage = undefined;
  };

  readonly #onLost = (cause: Error) => {
    this.resets += 1;
    this.outage = cause;
    this.#events.onLost();
  };
}
