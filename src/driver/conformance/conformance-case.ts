import { randomUUID } from "node:crypto";
import { type RawReply, type ScriptSource, scriptSource } from "../../protocol/script-call.js";
import type { ChannelListener, Driver, PubSubFamily, Unsubscribe } from "../driver.js";

/** A promise that every driver keeps. */
export interface ConformanceCase {
  readonly name: string;
  /** An ability without which the case does not apply. */
  readonly needs: readonly ConformanceAbility[];
  /** @example await conformanceCase.run(harness); */
  run(harness: ConformanceHarness): Promise<void>;
}

export type ConformanceAbility =
  | "count-receivers"
  | "cut-command"
  | "cut-subscriber"
  | "end-client"
  | "flush-scripts"
  | "keep-order"
  | "lose-master"
  | "move-key"
  | "reaches-every-master"
  | "replicate";

/** Gives drivers to the cases. A harness's optional members are abilities that some cases need. */
export interface ConformanceHarness {
  /** A new driver, ready for use. All drivers reach the same server. The cases close the drivers that they were given. */
  connect(): Promise<Driver>;
  /** The family of the published messages. Default: classic. */
  readonly family?: PubSubFamily;
  /** Whether `PUBLISH` counts all listeners. Absent in a cluster, where a server counts only its own. */
  readonly countsReceivers?: true;
  /** Whether calls reach the server in the order in which they were made. Absent with a pool of connections. */
  readonly keepsOrder?: true;
  /** How many replicas the server has, if any. */
  readonly replicas?: number;
  /** How many masters the drivers reach, if they have the member `everywhere`: 1 if one server has all keys. */
  readonly masters?: number;
  /** Breaks the connection on which this driver runs scripts. The client makes a new connection by itself. */
  cutCommand?(driver: Driver): Promise<void>;
  /** Breaks the connection on which this driver listens. */
  cutSubscriber?(driver: Driver): Promise<void>;
  /** Ends this driver's script client for good, as its owner would. Resolves when the client has ended. */
  endClient?(driver: Driver): Promise<void>;
  /** Makes this driver's client forget one master, at least for some time. */
  loseMaster?(driver: Driver): Promise<void>;
  /** Gives an existing key to another server. Resolves when all servers know the key's new server. */
  moveKey?(key: string): Promise<void>;
  /** Makes the server forget all scripts (`SCRIPT FLUSH`). */
  flushScripts?(): Promise<void>;
}

/** What the body of a case may use. */
export class Stage {
  readonly #harness: ConformanceHarness;
  readonly #drivers: Driver[] = [];
  readonly #keys: string[] = [];
  /** The name is new for each stage, so that cases and other users of the server do not share keys. */
  readonly #name = `holdfast-conformance:{${randomUUID()}}`;

  constructor(harness: ConformanceHarness) {
    this.#harness = harness;
  }

  async connect(): Promise<Driver> {
    const driver = await this.#harness.connect();
    this.#drivers.push(driver);
    return driver;
  }

  /** The name of a key that is deleted when the case ends. */
  key(name: string): string {
    const key = `${this.#name}:${name}`;
    this.#keys.push(key);
    return key;
  }

  channel(name: string): string {
    return `${this.#name}:channel:${name}`;
  }

  listen(driver: Driver, channel: string, listener: ChannelListener): Promise<Unsubscribe> {
    return driver.subscribe(channel, listener, this.#harness.family);
  }

  publish(driver: Driver, channel: string, message: string): Promise<RawReply> {
    const command = this.#harness.family === "sharded" ? "SPUBLISH" : "PUBLISH";
    return evaluate(driver, publishing, [this.key("publisher")], [command, channel, message]);
  }

  async leave(): Promise<void> {
    try {
      if (this.#keys.length > 0) await evaluate(await this.connect(), del, this.#keys);
    } finally {
      await Promise.all(this.#drivers.map((driver) => driver.close()));
    }
  }
}

export function conformanceCase(
  name: string,
  needs: readonly ConformanceAbility[],
  body: (stage: Stage, harness: ConformanceHarness) => Promise<void>,
): ConformanceCase {
  return {
    name,
    needs,
    async run(harness) {
      const stage = new Stage(harness);
      try {
        await body(stage, harness);
      } finally {
        await stage.leave();
      }
    },
  };
}

export function script(name: string, lua: string): ScriptSource {
  return scriptSource(`conformance-${name}`, lua);
}

/** Runs a script, with a ticket that is never given up. */
export function evaluate(
  driver: Driver,
  source: ScriptSource,
  keys: readonly string[] = [],
  args: readonly string[] = [],
): Promise<RawReply> {
  return driver.run({ script: source, keys, args }, { givenUp: false });
}

const publishing: ScriptSource = script("publish", "return redis.call(ARGV[1], ARGV[2], ARGV[3])");
const del: ScriptSource = script("del", 'for _, key in ipairs(KEYS) do redis.call("DEL", key) end');

/** Records a listener's callbacks: messages with a ">" before them, and "ready". */
export class Recorder implements ChannelListener {
  readonly heard: string[] = [];
  readonly #waiting = new Set<() => void>();

  onMessage(message: string): void {
    this.#hear(`>${message}`);
  }

  onReady(): void {
    this.#hear("ready");
  }

  /** Resolves when this many entries were recorded. */
  async until(count: number): Promise<void> {
    while (this.heard.length < count) {
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
      });
    }
  }

  #hear(what: string): void {
    this.heard.push(what);
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
