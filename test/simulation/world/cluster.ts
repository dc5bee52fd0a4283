import { ServerReplyError } from "../../../src/driver/driver.js";
import { hashSlot } from "../../../src/protocol/hash-slot.js";
import type { RawReply, ScriptCall } from "../../../src/protocol/script-call.js";
import type { Stream } from "../chooser/chooser.js";
import { oneIn, pick } from "../draw.js";
import { ClusterDriver } from "./cluster-driver.js";
import { cutAll, type Hit, MS } from "./fault.js";
import type { Connected, ConnectParts } from "./fleet.js";
import { MessageLink } from "./message-link.js";
import { Reliances } from "./reliance.js";
import { ReplicaLink } from "./replica-link.js";
import type { SimServer } from "./sim-server.js";
import type { Topology } from "./topology.js";
import type { VirtualTime } from "./virtual-time.js";

/** Who has which slot. */
export class SlotMap {
  readonly #masters: readonly SimServer[];
  /** Those that have moved. */
  readonly #moved: ReadonlyMap<number, SimServer>;

  /** @param masters have the slots by turns */
  constructor(masters: readonly SimServer[], moved: ReadonlyMap<number, SimServer> = new Map()) {
    this.#masters = masters;
    this.#moved = moved;
  }

  ownerOf(slot: number): SimServer {
    const owner = this.#moved.get(slot) ?? this.#masters[slot % this.#masters.length];
    if (owner === undefined) throw new Error(`nobody has slot ${slot}`);
    return owner;
  }

  with(slot: number, owner: SimServer): SlotMap {
    return new SlotMap(this.#masters, new Map([...this.#moved, [slot, owner]]));
  }

  /** Another server has all that one had. */
  replaced(old: SimServer, by: SimServer): SlotMap {
    const other = (server: SimServer) => (server === old ? by : server);
    const moved = new Map([...this.#moved].map(([slot, owner]) => [slot, other(owner)] as const));
    return new SlotMap(this.#masters.map(other), moved);
  }

  get masters(): readonly SimServer[] {
    return this.#masters;
  }

  equals(map: SlotMap): boolean {
    if (map.#masters.some((master, at) => master !== this.#masters[at])) return false;
    const slots = [...this.#moved.keys(), ...map.#moved.keys()];
    return slots.every((slot) => this.ownerOf(slot) === map.ownerOf(slot));
  }
}

/** A slot that is on its way. */
interface Migration {
  readonly from: SimServer;
  readonly to: SimServer;
}

/** How a script comes to a server. */
interface Arrival {
  readonly by: string;
  readonly withText: boolean;
  readonly asking: boolean;
}

/** How long after a master has died its replica takes over: longer than the longest command timeout, and a second. */
const NODE_TIMEOUTS_MS: readonly [number, ...number[]] = [5_000, 5_000, 15_000];

/** Masters with a replica each, and slots that move between them. */
export class ClusterTopology implements Topology {
  readonly name = "cluster";
  readonly servers: readonly [SimServer, ...SimServer[]];
  readonly reliances = new Reliances();
  map: SlotMap;
  readonly #time: VirtualTime;
  readonly #stream: Stream;
  readonly #migrations = new Map<number, Migration>();
  /** All that was asked for. */
  readonly #seen = new Set<number>();
  #isFailingOver = false;

  /** @param servers masters, and then as many replicas in the same order */
  constructor(time: VirtualTime, stream: Stream, servers: readonly [SimServer, ...SimServer[]]) {
    this.#time = time;
    this.#stream = stream;
    this.servers = servers;
    const masters = servers.slice(0, servers.length / 2);
    this.map = new SlotMap(masters);
    masters.forEach((master, at) => {
      const replica = servers[masters.length + at];
      if (replica !== undefined) this.#follow(master, replica);
    });
    for (const server of servers) server.peers = servers.filter((other) => other !== server);
  }

  connect(parts: ConnectParts): readonly [Connected] {
    const { name, time, chooser, plan, process } = parts;
    const reliance = this.reliances.plan(chooser.stream(`${name}.replicas`), name, 1);
    const delays = chooser.stream(`${name}.delays`);
    const server = () => this.#anyNode(delays);
    const messages = new MessageLink({ name, time, process, server, distance: plan.distance, delays });
    const short = () => {
      reliance.wasShort = true;
    };
    const driver = new ClusterDriver(parts, { cluster: this, messages, short });
    return [{ driver, options: { replicas: reliance.replicas } }];
  }

  find(name: string): SimServer {
    const server = this.servers.find((each) => each.name === name);
    if (server === undefined) throw new Error(`there is no server "${name}"`);
    return server;
  }

  /** What a node does with a script. Throws `ServerReplyError`. */
  run(server: SimServer, call: ScriptCall, { by, withText, asking }: Arrival): RawReply {
    const [slot, ...others] = new Set(call.keys.map(hashSlot));
    if (others.length > 0)
      throw new ServerReplyError("CROSSSLOT Keys in request don't hash to the same slot");
    if (slot !== undefined) this.#redirect(server, slot, call, asking);
    return server.run(call, by, withText);
  }

  #redirect(server: SimServer, slot: number, { keys }: ScriptCall, asking: boolean): void {
    this.#seen.add(slot);
    const owner = this.map.ownerOf(slot);
    const migration = this.#migrations.get(slot);
    const missing = () => keys.filter((key) => Number(server.command("EXISTS", key)) === 0).length;
    if (owner !== server) {
      if (!asking || migration?.to !== server) throw new ServerReplyError(`MOVED ${slot} ${owner.name}`);
      if (keys.length > 1 && missing() > 0) throw new ServerReplyError(TRY_AGAIN);
      return;
    }
    if (migration === undefined || missing() === 0) return;
    if (missing() < keys.length) throw new ServerReplyError(TRY_AGAIN);
    throw new ServerReplyError(`ASK ${slot} ${migration.to.name}`);
  }

  /** A slot goes to another master, key by key. @returns when it is there; undefined when there is none to move */
  moveSlot({ stream, reach }: Hit): number | undefined {
    this.reliances.hasMoved = true;
    const seen = [...this.#seen].filter((slot) => !this.#migrations.has(slot));
    // Those that something lies in, if there are any.
    const full = seen.filter((slot) => this.map.ownerOf(slot).keyNames.some((key) => hashSlot(key) === slot));
    const slots = full.length > 0 ? full : seen;
    const slot = slots[stream.choose(Math.max(1, slots.length))];
    if (slot === undefined || this.#isFailingOver) return undefined;
    const from = this.map.ownerOf(slot);
    const others = this.map.masters.filter((master) => master !== from);
    const to = others[stream.choose(others.length)];
    if (to === undefined) return undefined;
    this.#migrations.set(slot, { from, to });
    reach.history.add("world", `slot ${slot} goes from ${from.name} to ${to.name}`);
    const pauseUs = pick(stream, [5, 0, 100, 1_000]) * MS;
    const keys = from.keyNames.filter((key) => hashSlot(key) === slot);
    keys.forEach((key, at) => {
      this.#time.after((at + 1) * pauseUs, () => this.#move(slot, (each) => each === key));
    });
    const endUs = (keys.length + 1) * pauseUs + pick(stream, [0, 50, 1_000, 4_000]) * MS;
    this.#time.after(endUs, () => {
      const migration = this.#migrations.get(slot);
      if (migration === undefined) return;
      this.#move(slot, (key) => hashSlot(key) === slot);
      this.#migrations.delete(slot);
      this.map = this.map.with(slot, migration.to);
      reach.history.add("world", `slot ${slot} is at ${migration.to.name}`);
    });
    return endUs + 2_000 * MS;
  }

  #move(slot: number, isMeant: (key: string) => boolean): void {
    const migration = this.#migrations.get(slot);
    if (migration === undefined) return;
    const names = migration.from.keyNames.filter(isMeant);
    migration.from.give(migration.to, (key) => names.includes(key));
  }

  /** A slot goes to a master whose replica does not hear of it, and that one dies soon. */
  moveAndDie(hit: Hit): number | undefined {
    this.reliances.hasMoved = true;
    const movedUs = this.moveSlot(hit);
    const to = [...this.#migrations.values()].at(-1)?.to;
    const [link] = to?.replicas ?? [];
    if (movedUs === undefined || to === undefined || link === undefined) return movedUs;
    const diesUs = movedUs - 2_000 * MS + pick(hit.stream, [10, 300, 1_000]) * MS;
    link.stop(diesUs + 1 * MS);
    this.#time.after(diesUs, () => {
      link.end();
      if (this.failover(hit, to, link) === undefined) this.rejoin(to, link.replica);
    });
    return diesUs + Math.max(...NODE_TIMEOUTS_MS) * MS + 6_000 * MS;
  }

  /** A master dies, and its replica takes over; the old one comes back as a replica. */
  failover(hit: Hit, old: SimServer = hit.server, cutOff?: ReplicaLink): number | undefined {
    const { stream, reach } = hit;
    const [link = cutOff] = old.replicas;
    if (this.#isFailingOver || this.#migrations.size > 0 || link === undefined) return undefined;
    if (!this.map.masters.includes(old)) return undefined;
    this.#isFailingOver = true;
    old.gate.shut();
    // What was on its way to its replica is lost with it, or is not.
    if (oneIn(stream, 2)) link.end();
    cutAll(old, hit);
    const promotedUs = pick(stream, NODE_TIMEOUTS_MS) * MS;
    const backUs = promotedUs + pick(stream, [3_000, 100]) * MS;
    this.reliances.losses.push({ fromUs: this.#time.nowUs, untilUs: this.#time.nowUs + backUs });
    this.#time.after(promotedUs, () => {
      const { replica } = link;
      reach.history.add(
        "world",
        `${replica.name} takes over from ${old.name}, with ${replica.offset} of ${old.offset}`,
      );
      for (const each of [...old.replicas]) each.end();
      replica.isReadOnly = false;
      this.map = this.map.replaced(old, replica);
      this.#time.after(backUs - promotedUs, () => {
        this.#follow(replica, old);
        old.gate.open();
        this.#isFailingOver = false;
      });
    });
    return backUs + 3_000 * MS;
  }

  /** A replica that was cut off follows its master again, unless one of them has another part by now. */
  rejoin(master: SimServer, replica: SimServer): void {
    if (!replica.isReadOnly || master.isReadOnly || master.replicas.size > 0) return;
    this.#follow(master, replica);
  }

  #follow(master: SimServer, replica: SimServer): void {
    const lagUs = pick(this.#stream, [100, 500, 5_000]);
    new ReplicaLink(this.#time, master, replica, { lagUs, ackUs: pick(this.#stream, [100, 500, 5_000]) });
  }

  #anyNode(stream: Stream): SimServer {
    const live = this.map.masters.filter(({ gate }) => !gate.isShut);
    return live[stream.choose(Math.max(1, live.length))] ?? this.servers[0];
  }
}

const TRY_AGAIN = "TRYAGAIN Multiple keys request during rehashing of slot";
