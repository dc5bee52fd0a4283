import type { ReplicaSettings } from "../client-options.js";
import { type Driver, type ReplicaDemand, type Ticket, WaitRefusedError } from "../driver/driver.js";
import { UnavailableError } from "../errors.js";
import { type AboutClient, events } from "../events.js";
import type { Dialect, Publishing } from "../protocol/dialect.js";
import type { RawReply, ScriptCall } from "../protocol/script-call.js";

/** Fewer replicas than required acknowledged in time what a command wrote. */
export interface Shortfall {
  readonly acknowledged: number;
  readonly wanted: number;
  /** How long the command waited for replicas. */
  readonly timeoutMs: number;
}

/** The answer to a command. `shortfall` is set if too few replicas have what it wrote. */
export interface Replicated {
  readonly raw: RawReply;
  readonly shortfall?: Shortfall;
}

/** The limits of the wait for replicas. */
export interface Span {
  /** How much time the command has left. */
  readonly leftMs: number;
  /** The shortest lease that the command sets. */
  readonly leaseMs: number;
  /** Whether the command waits for replicas at all. */
  readonly awaited: boolean;
  /** Whether the command fails, with nothing sent, if replicas are required and the server refuses WAIT. */
  readonly required: boolean;
}

/** The wait for replicas takes at most half of the time left, so that the answer comes before the command is given up. */
const PARTS_OF_BOUND = 2;
/** The wait for replicas takes at most a quarter of the lease too, so that enough of the lease is left. */
const PARTS_OF_LEASE = 4;

/** Makes replicas acknowledge what commands write, as the client's options require. */
export class Replication {
  readonly #driver: Driver;
  readonly #settings: ReplicaSettings;
  readonly #about: AboutClient;
  readonly #replicas: ReplicaDemand["replicas"];
  #mode: "auto" | "require" | "off";
  /** Whether replicas are asked at all. */
  isOn: boolean;

  /** @throws TypeError if replicas are required and the driver cannot ask them */
  constructor(driver: Driver, settings: ReplicaSettings, about: AboutClient) {
    const { topology } = driver.traits;
    const several = topology === "cluster" || topology === "sentinel";
    const able = driver.runReplicated !== undefined;
    this.#driver = driver;
    this.#settings = settings;
    this.#about = about;
    this.#mode = settings.mode ?? (several && able ? "auto" : "off");
    this.isOn = this.#mode !== "off";
    this.#replicas = this.#mode === "require" ? settings.min : "connected";
    if (this.isOn && !able) {
      throw new TypeError(
        `replicas.mode "${this.#mode}" is not possible with this client: WAIT counts only the writes of its own connection, ` +
          "and the client can not send a command and WAIT on the same connection. Use another client, or leave replicas out",
      );
    }
  }

  /**
   * Runs a script whose writes replicas should have.
   * @param span the limits of the wait
   * @throws UnavailableError if replicas are required and the server refuses WAIT
   */
  async run(
    call: ScriptCall,
    ticket: Ticket,
    { leftMs, leaseMs, awaited, required }: Span,
  ): Promise<Replicated> {
    if (this.#driver.runReplicated === undefined) return { raw: await this.#driver.run(call, ticket) };
    const longestMs = Math.min(leftMs / PARTS_OF_BOUND, leaseMs / PARTS_OF_LEASE);
    const timeoutMs = Math.max(1, Math.min(this.#settings.timeoutMs, Math.floor(longestMs)));
    const demand = { replicas: awaited ? this.#replicas : 0, timeoutMs };
    try {
      const { reply: raw, ...counts } = await this.#driver.runReplicated(call, ticket, demand);
      if (counts.acknowledged >= counts.wanted) return { raw };
      this.#tell({ script: call.script.name, ...counts });
      return this.#mode === "require" ? { raw, shortfall: { ...counts, timeoutMs } } : { raw };
    } catch (error) {
      if (!(error instanceof WaitRefusedError)) throw error;
      return this.#refused(call, ticket, error, required);
    }
  }

  /** The server refused WAIT; the script was not sent. */
  async #refused(
    call: ScriptCall,
    ticket: Ticket,
    error: WaitRefusedError,
    required: boolean,
  ): Promise<Replicated> {
    if (this.#mode === "require" && required) {
      const why = `replicas are required, but the server refuses WAIT: ${error.message}`;
      throw new UnavailableError(this.#driver.traits.server, why, false, { cause: error });
    }
    if (this.#mode === "auto") {
      this.#tell({ script: call.script.name, acknowledged: 0, wanted: 0, error });
      this.#mode = "off";
      this.isOn = false;
    }
    return { raw: await this.#driver.run(call, ticket) };
  }

  #tell(what: { script: string; acknowledged: number; wanted: number; error?: unknown }): void {
    if (!events.replicasShort.hasSubscribers) return;
    events.replicasShort.publish({ ...this.#about, ...what });
  }
}

/**
 * How the scripts are encoded. Scripts may grant locks only if replicas are not asked. This is checked for each command: once a server has
 * refused WAIT, no replica is asked any more.
 * @param publishes undefined while it is not known which messages are used
 */
export function dialectOf(publishes: Publishing = "classic", replication: Replication): Dialect {
  return {
    publishes,
    get grants() {
      return !replication.isOn;
    },
  };
}
