import { ServerReplyError } from "../../../src/driver/driver.js";
import { bytesOfText, textOfBytes } from "../../../src/memory/byte-strings.js";
import { type Interpreter, MemoryStore, SharedInterpreter } from "../../../src/memory/memory-store.js";
import { CommandError } from "../../../src/memory/reply.js";
import type { Snapshot } from "../../../src/memory/snapshot.js";
import type { RawReply, ScriptCall } from "../../../src/protocol/script-call.js";
import { CompiledScripts } from "../lua/compiled-scripts.js";
import { Gate } from "./gate.js";
import type { ReplicaLink } from "./replica-link.js";
import type { VirtualTime } from "./virtual-time.js";

const US = 1_000;
/** A replica runs them as its master does; other ones that only read name keys, for which nodes of a cluster redirect. */
const ONLY_READ = new Set(["find-channels", "find-hashes"]);

/** One for all runs of a process: each script is compiled once. fengari runs those that are not understood. */
let interpreter: Interpreter = new CompiledScripts(new SharedInterpreter());

/** Has another one run the scripts of all servers that are made from now on. @returns what puts this one back */
export function replaceInterpreter(other: Interpreter): () => void {
  const replaced = interpreter;
  interpreter = other;
  return () => {
    interpreter = replaced;
  };
}

/** Whoever listens to a channel on one connection. */
export interface Ear {
  hear(channel: string, message: string): void;
}

/** What the watchers of a run are told of a server. */
export interface ServerWatch {
  /** A script is about to run. */
  starts?(server: SimServer, call: ScriptCall, by: string): void;
  /** A channel matters to what happens: somebody begins or ends to listen to it, or it is spoken or looked at. */
  channel?(server: SimServer, channel: string, use: "listened" | "used"): void;
  /** A message was published here. @param heard how many listen to the channel */
  published?(server: SimServer, channel: string, message: string, heard: number): void;
  /** A script has run. @param answer what it answered, or the server's refusal */
  ran(server: SimServer, call: ScriptCall, by: string, answer: RawReply | Error): void;
}

/** A server of a run: the embedded one, with a clock of its own and what can befall it. */
export class SimServer {
  readonly name: string;
  /** What reaches it waits here while it stands still. */
  readonly gate: Gate;
  readonly #time: VirtualTime;
  readonly #epochMs: number;
  readonly #watch: ServerWatch;
  readonly #store: MemoryStore;
  readonly #ears = new Map<string, Set<Ear>>();
  readonly #scripts = new Set<string>();
  /** What is published at one of them is heard at all. */
  peers: readonly SimServer[] = [];
  /** Those that follow it. */
  readonly replicas = new Set<ReplicaLink>();
  readonly #waits = new Set<() => boolean>();
  /** How much was written so far, as it was told to its replicas, or by its master. */
  offset = 0;
  #shiftMs = 0;
  /** How often another server has taken its place under its address. */
  replacements = 0;
  /** By how much the clocks of those that came were behind, together. */
  setBackMs = 0;
  /** It is a replica, or was made one: it refuses whatever may write. */
  isReadOnly = false;
  #isFull = false;
  /** When the process that has sent what arrived last asked its client for that. */
  askedUs = 0;
  /** The user that the clients have may not publish at present. */
  refusesPublish = false;

  constructor(name: string, time: VirtualTime, epochMs: number, watch: ServerWatch) {
    this.name = name;
    this.gate = new Gate(time);
    this.#time = time;
    this.#epochMs = epochMs;
    this.#watch = watch;
    const surroundings = {
      wallMs: () => this.timeMs,
      publish: (channel: string, message: string) => this.#publish(channel, message),
      listeners: (channel: string) => this.#heard(textOfBytes(channel)).size,
      channels: () => this.channels.map(bytesOfText),
    };
    this.#store = new MemoryStore(surroundings, interpreter);
  }

  get timeMs(): number {
    return this.#epochMs + this.#shiftMs + this.#time.nowUs / US;
  }

  /**
   * Another server takes its place under its address, with all that it had and a clock of its own. What was sent to the one before does
   * not reach this one.
   */
  replace(aheadMs: number): void {
    this.replacements += 1;
    this.setBackMs += Math.max(0, -aheadMs);
    this.#shiftMs += aheadMs;
    this.forgetScripts();
  }

  /** Its clock is set forward. */
  stepClock(ms: number): void {
    this.#shiftMs += ms;
  }

  /** `EVALSHA`, or `EVAL` with the script's text. Throws `ServerReplyError`. */
  run(call: ScriptCall, by: string, withText: boolean): RawReply {
    const { script, keys, args } = call;
    if (withText) this.#scripts.add(script.sha1);
    else if (!this.#scripts.has(script.sha1)) throw new ServerReplyError("NOSCRIPT No matching script.");
    this.#watch.starts?.(this, call, by);
    try {
      if (this.isReadOnly && !ONLY_READ.has(script.name))
        throw new ServerReplyError("READONLY You can't write against a read only replica.");
      const before = this.#store.writes;
      const reply = this.#store.evaluate(script, keys, args);
      if (this.#store.writes > before) this.#wrote();
      this.#watch.ran(this, call, by, reply);
      return reply;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      this.#watch.ran(this, call, by, error);
      throw error;
    }
  }

  #wrote(): void {
    this.offset += 1;
    for (const replica of this.replicas) replica.wrote();
  }

  /** `WAIT`: answers once so many replicas have all that was written up to this offset, or the time is over. */
  wait(offset: number, count: number, timeoutMs: number): number | Promise<number> {
    const have = () => [...this.replicas].filter((replica) => replica.acknowledged >= offset).length;
    if (have() >= count) return have();
    return new Promise((resolve) => {
      const look = (): boolean => {
        if (have() < count) return false;
        this.#waits.delete(look);
        resolve(have());
        return true;
      };
      this.#waits.add(look);
      this.#time.after(timeoutMs * US, () => {
        if (this.#waits.delete(look)) this.gate.pass(() => resolve(have()));
      });
    });
  }

  get keyNames(): readonly string[] {
    return [...this.#store.copy().keys()].map(textOfBytes);
  }

  /** Some of its keys are another server's from now on. */
  give(to: SimServer, isMeant: (key: string) => boolean): void {
    const isMeantBytes = (key: string) => isMeant(textOfBytes(key));
    to.#store.become(this.#store.copy(isMeantBytes), isMeantBytes);
    this.#store.become(new Map(), isMeantBytes);
    to.#wrote();
    this.#wrote();
  }

  /** A replica has acknowledged something. */
  acknowledged(): void {
    for (const look of [...this.#waits]) look();
  }

  copy(): ReturnType<MemoryStore["copy"]> {
    return this.#store.copy();
  }

  /** Takes over what its master had at a moment. */
  become(copies: ReturnType<MemoryStore["copy"]>, offset: number): void {
    this.#store.become(copies);
    this.offset = offset;
  }

  command(name: string, ...args: readonly (string | number)[]): RawReply {
    return this.#store.command(name, args);
  }

  /** For how many milliseconds a key stays; -1: without an end, -2: there is none. */
  ttlMs(key: string): number {
    return this.#store.ttlMs(key);
  }

  get keys(): Snapshot {
    return this.#store.dump();
  }

  /** It knows this script from now on. */
  learn(sha1: string): void {
    this.#scripts.add(sha1);
  }

  forgetScripts(): void {
    this.#scripts.clear();
  }

  /** Whether it is at its `maxmemory`. */
  get isFull(): boolean {
    return this.#isFull;
  }

  set isFull(isFull: boolean) {
    this.#isFull = isFull;
    this.#store.full(isFull);
  }

  empty(): void {
    this.#store.flush();
  }

  listen(channel: string, ear: Ear): void {
    this.#watch.channel?.(this, channel, "listened");
    const ears = this.#ears.get(channel) ?? new Set();
    this.#ears.set(channel, ears.add(ear));
  }

  unlisten(channel: string, ear: Ear): void {
    this.#watch.channel?.(this, channel, "listened");
    const ears = this.#ears.get(channel);
    if (ears?.delete(ear) === true && ears.size === 0) this.#ears.delete(channel);
  }

  /** The channels that somebody listens to. */
  get channels(): readonly string[] {
    return [...this.#ears.keys()];
  }

  /** A connection for messages is gone. */
  forget(ear: Ear): void {
    for (const channel of [...this.#ears.keys()]) this.unlisten(channel, ear);
  }

  /** @returns how many listen here */
  #tell(name: string, message: string): number {
    const ears = this.#heard(name);
    for (const ear of ears) ear.hear(name, message);
    return ears.size;
  }

  #publish(channel: string, message: string): number {
    if (this.refusesPublish)
      throw new CommandError("NOPERM this user has no permissions to run the 'publish' command");
    const name = textOfBytes(channel);
    for (const peer of this.peers) {
      this.#time.after(BUS_US, () => peer.gate.pass(() => peer.#tell(name, textOfBytes(message))));
    }
    const heard = this.#tell(name, textOfBytes(message));
    this.#watch.published?.(this, name, textOfBytes(message), heard);
    return heard;
  }

  /** Who listens to a channel. */
  #heard(channel: string): ReadonlySet<Ear> {
    this.#watch.channel?.(this, channel, "used");
    return this.#ears.get(channel) ?? NOBODY;
  }
}

const NOBODY: ReadonlySet<Ear> = new Set();

/** What a message takes from one node of a cluster to another. */
const BUS_US = 300;
