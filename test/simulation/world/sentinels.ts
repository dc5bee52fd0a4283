import type { Stream } from "../chooser/chooser.js";
import { between, oneIn, pick } from "../draw.js";
import { CommandLink } from "./command-link.js";
import { cutAll, type Hit, MS } from "./fault.js";
import type { Connected, ConnectParts } from "./fleet.js";
import { MessageLink } from "./message-link.js";
import { Reliances } from "./reliance.js";
import { ReplicaLink } from "./replica-link.js";
import { SentinelDriver, type Word } from "./sentinel-driver.js";
import type { SimServer } from "./sim-server.js";
import type { Standing, Topology } from "./topology.js";
import type { VirtualTime } from "./virtual-time.js";

/** A master with replicas, and the Sentinels that say which one it is. */
export class SentinelTopology implements Topology {
  readonly name = "sentinel";
  readonly servers: readonly [SimServer, ...SimServer[]];
  readonly reliances: Reliances;
  readonly #time: VirtualTime;
  readonly #stream: Stream;
  readonly #drivers: { readonly driver: SentinelDriver; readonly parts: ConnectParts }[] = [];
  #word: Word;
  /** Since when all is as the Sentinels say. */
  #sinceUs = 0;
  /** Was made the master, and is perhaps not named yet. */
  #promoted: SimServer | undefined;

  constructor(time: VirtualTime, stream: Stream, servers: readonly [SimServer, ...SimServer[]]) {
    this.#time = time;
    this.#stream = stream;
    this.servers = servers;
    this.reliances = new Reliances(time);
    const [master, ...replicas] = servers;
    this.#word = { master, isFailingOver: false };
    for (const replica of replicas) this.#follow(master, replica);
  }

  get master(): SimServer {
    return this.#word.master;
  }

  get isFailingOver(): boolean {
    return this.#word.isFailingOver;
  }

  standingOf(): Standing | undefined {
    const { master, isFailingOver } = this.#word;
    const heirs = [...master.replicas].map(({ replica }) => replica);
    return isFailingOver ? undefined : { master, heirs, sinceUs: this.#sinceUs };
  }

  connect(parts: ConnectParts): readonly [Connected] {
    const { name, time, chooser, plan, process, watch, lines } = parts;
    const all = this.servers.length - 1;
    const reliance = this.reliances.plan(chooser.stream(`${name}.replicas`), parts, all);
    const delays = chooser.stream(`${name}.delays`);
    const common = { name, time, process, server: () => this.#word.master, distance: plan.distance, delays };
    const commands = new CommandLink({ ...common, rules: { ...plan.rules, queues: true }, watch });
    reliance.connectedUs = () => commands.connectedUs;
    const messages = new MessageLink(common);
    lines.push({ commands, messages, server: () => commands.server });
    const driver = new SentinelDriver(parts, {
      word: () => this.#word,
      commands,
      messages,
      reliances: this.reliances,
    });
    this.#drivers.push({ driver, parts });
    return [{ driver, options: { replicas: reliance.replicas } }];
  }

  #follow(master: SimServer, replica: SimServer): ReplicaLink {
    const lagUs = pick(this.#stream, [100, 500, 5_000]);
    return new ReplicaLink(this.#time, master, replica, {
      lagUs,
      ackUs: pick(this.#stream, [100, 500, 5_000]),
    });
  }

  /** A replica is made to follow the master again, or for the first time, unless it is the master by then. */
  rejoin(replica: SimServer): void {
    const { master } = this;
    if (
      replica === master ||
      replica === this.#promoted ||
      [...master.replicas].some((link) => link.replica === replica)
    )
      return;
    for (const server of this.servers) {
      for (const link of [...server.replicas]) if (link.replica === replica) link.end();
    }
    this.#follow(master, replica);
  }

  /**
   * Another server is made the master, while the old one goes on, or stands still; some time later that one is a replica.
   * @returns when all is over; undefined when there is none to choose
   */
  failover(hit: Hit, hasCrashed: boolean): number | undefined {
    const { stream, reach } = hit;
    const time = this.#time;
    const old = this.master;
    const candidates = [...old.replicas].sort((a, b) => b.replica.offset - a.replica.offset);
    const chosen = candidates[stream.choose(Math.max(1, candidates.length))];
    if (this.isFailingOver || old.isReadOnly || chosen === undefined) return undefined;
    this.#word = { master: old, isFailingOver: true };
    if (hasCrashed) old.gate.shut();
    // What was on its way to its replicas is lost with it, or is not.
    if (hasCrashed && oneIn(stream, 2)) for (const each of candidates) each.end();
    const promotedUs = pick(stream, [100, 500, 2_000]) * MS;
    const namedUs = promotedUs + pick(stream, [10, 200, 1_000]) * MS;
    const demotedUs = namedUs + pick(stream, [500, 2_000, 8_000]) * MS;
    const { nowUs } = time;
    const loss = {
      fromUs: nowUs,
      untilUs: nowUs + demotedUs,
      goesOn: true,
    };
    time.after(promotedUs, () => {
      // It may have been cut off meanwhile, and have come back.
      for (const link of [...old.replicas]) if (link.replica === chosen.replica) link.end();
      reach.history.add(
        "world",
        `${chosen.replica.name} is made the master, with ${chosen.replica.offset} of ${old.offset}`,
      );
      this.reliances.losses.push(loss);
      this.#promoted = chosen.replica;
      chosen.end();
      chosen.replica.isReadOnly = false;
    });
    time.after(namedUs, () => this.#name(chosen.replica, stream));
    for (const server of this.servers) {
      if (server === chosen.replica || server === old) continue;
      time.after(namedUs + pick(stream, [0, 300, 1_000]) * MS, () => this.rejoin(server));
    }
    if (hasCrashed) time.after(namedUs + pick(stream, [0, 100, 400]) * MS, () => old.gate.open());
    time.after(demotedUs, () => {
      this.rejoin(old);
      cutAll(old, hit);
    });
    return demotedUs + 3_000 * MS;
  }

  #name(master: SimServer, stream: Stream): void {
    this.#word = { master, isFailingOver: false };
    this.#sinceUs = this.#time.nowUs;
    for (const { driver, parts } of this.#drivers) {
      const { process, plan } = parts;
      const lateUs = plan.distance.leastUs + pick(stream, [0, 5, 600]) * MS;
      this.#time.after(lateUs, () => process.gate.pass(() => driver.hear(this.master)));
    }
  }
}

/** Between which numbers of replicas a master has. */
export function replicaCount(stream: Stream): number {
  return between(stream, 1, 2);
}
