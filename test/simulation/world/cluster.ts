import { ServerReplyError } from "../../../src/driver/driver.js";
import { hashSlot } from "../../../src/protocol/hash-slot.js";
import type { RawReply, ScriptCall } from "../../../src/protocol/script-call.js";
import type { Part } from "../checker/checker.js";
import type { Stream } from "../chooser/chooser.js";
import { oneIn, pick } from "../draw.js";
import { ClusterDriver } from "./cluster-driver.js";
import { cutAll, type Hit, MS } from "./fault.js";
import type { Connected, ConnectParts } from "./fleet.js";
import { MessageLink } from "./message-link.js";
import { Reliances } from "./reliance.js";
import { ReplicaLink } from "./replica-link.js";
import type { SimProcess } from "./sim-process.js";
import type { SimServer } from "./sim-server.js";
import { SlotMap } from "./slot-map.js";
import type { Standing, Topology } from "./topology.js";
import type { VirtualTime } from "./virtual-time.js";

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

/** A replica takes over so long after its master has died that all command timeouts are over, and a second, and more. */
const AFTER_TIMEOUTS_MS = 1_600;
/** How much later than that. */
const TAKES_LONGER_MS: readonly [number, ...number[]] = [0, 3_000, 12_000];

/** Whoever holds something asks so soon for it where it has come. */
const ASKED_WITHIN_US = 4_000 * MS;
/** For how long a replica does not hear of what has come to its master. */
const BEHIND_MS: readonly [number, ...number[]] = [4_000, 1_500, 20_000];

/** Masters with a replica each, and slots that move between them. */
export class ClusterTopology implements Topology {
  readonly name = "cluster";
  readonly servers: readonly [SimServer, ...SimServer[]];
  readonly reliances: Reliances;
  map: SlotMap;
  readonly #time: VirtualTime;
  readonly #stream: Stream;
  /** How long a master is dead at least before another takes its place. */
  #leastDeadMs = AFTER_TIMEOUTS_MS;
  readonly #drivers = new Map<string, ClusterDriver>();
  /** What happens when a server has been asked whether it has what somebody holds, by slot. */
  readonly #whenConfirmed = new Map<number, (by: string, server: SimServer) => void>();
  readonly #migrations = new Map<number, Migration>();
  /** With which migration each process was last sent on, by process and slot. */
  readonly #sentOn = new Map<string, Migration>();
  /** All that was asked for. */
  readonly #seen = new Set<number>();
  /** The master that has died, and its replica that is about to take over. */
  #failing: { readonly master: SimServer; readonly heir: SimServer } | undefined;
  /** Since when each that has taken over is a master. */
  readonly #promotedUs = new Map<SimServer, number>();

  /** @param servers masters, and then as many replicas in the same order */
  constructor(time: VirtualTime, stream: Stream, servers: readonly [SimServer, ...SimServer[]]) {
    this.#time = time;
    this.#stream = stream;
    this.servers = servers;
    this.reliances = new Reliances(time);
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
    const reliance = this.reliances.plan(chooser.stream(`${name}.replicas`), parts, 1);
    const delays = chooser.stream(`${name}.delays`);
    const server = () => this.#anyNode(delays);
    const messages = new MessageLink({ name, time, process, server, distance: plan.distance, delays });
    const short = () => this.reliances.short(name);
    const driver = new ClusterDriver(parts, { cluster: this, messages, short });
    this.#drivers.set(name, driver);
    const { commandTimeoutMs } = plan.options;
    this.#leastDeadMs = Math.max(this.#leastDeadMs, commandTimeoutMs + AFTER_TIMEOUTS_MS);
    return [{ driver, options: { replicas: reliance.replicas } }];
  }

  standingOf(name: string): Standing | undefined {
    const slot = hashSlot(name);
    const master = this.map.ownerOf(slot);
    if (this.#migrations.has(slot)) return undefined;
    const heirs =
      this.#failing?.master === master
        ? [this.#failing.heir]
        : [...master.replicas].map(({ replica }) => replica);
    const movedUs = this.reliances.movesOf(name, 0).at(-1)?.atUs ?? 0;
    return { master, heirs, sinceUs: Math.max(movedUs, this.#promotedUs.get(master) ?? 0) };
  }

  find(name: string): SimServer {
    const server = this.servers.find((each) => each.name === name);
    if (server === undefined) throw new Error(`there is no server "${name}"`);
    return server;
  }

  /** What a node does with a script. Throws `ServerReplyError`. */
  run(server: SimServer, call: ScriptCall, arrival: Arrival): RawReply {
    const { by, withText } = arrival;
    const [slot, ...others] = new Set(call.keys.map(hashSlot));
    if (others.length > 0)
      throw new ServerReplyError("CROSSSLOT Keys in request don't hash to the same slot");
    if (slot !== undefined) this.#redirect(server, slot, call, arrival);
    const reply = server.run(call, by, withText);
    if (slot !== undefined && call.script.name.endsWith("confirm"))
      this.#whenConfirmed.get(slot)?.(by, server);
    return reply;
  }

  /**
   * Who was sent on in a migration that is over comes to the owner of today. A real node that gets the slot once more by then takes
   * him in, beside what is still at the other: no client can tell.
   */
  #redirect(server: SimServer, slot: number, { keys }: ScriptCall, { by, asking }: Arrival): void {
    this.#seen.add(slot);
    const owner = this.map.ownerOf(slot);
    const migration = this.#migrations.get(slot);
    const missing = () => keys.filter((key) => Number(server.command("EXISTS", key)) === 0).length;
    if (owner !== server) {
      const isSentOn = asking && migration?.to === server && this.#sentOn.get(`${by} ${slot}`) === migration;
      if (!isSentOn) throw new ServerReplyError(`MOVED ${slot} ${owner.name}`);
      if (keys.length > 1 && missing() > 0) throw new ServerReplyError(TRY_AGAIN);
      return;
    }
    if (migration === undefined || missing() === 0) return;
    if (missing() < keys.length) throw new ServerReplyError(TRY_AGAIN);
    this.#sentOn.set(`${by} ${slot}`, migration);
    throw new ServerReplyError(`ASK ${slot} ${migration.to.name}`);
  }

  /** A slot goes to another master, key by key. @returns when it is there; undefined when there is none to move */
  moveSlot({ stream, reach }: Hit): number | undefined {
    const seen = [...this.#seen].filter((slot) => !this.#migrations.has(slot));
    // Those of which somebody believes to have something, if there are any, or those that something lies in.
    const held = seen.filter((slot) => believersOf(slot, reach).length > 0);
    const full = seen.filter((slot) => this.map.ownerOf(slot).keyNames.some((key) => hashSlot(key) === slot));
    const slots = [held, full, seen].find(({ length }) => length > 0) ?? [];
    const slot = slots[stream.choose(Math.max(1, slots.length))];
    if (slot === undefined || this.#failing !== undefined) return undefined;
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
    this.#time.after(endUs, () => this.#arrive(slot, reach));
    // One client hears of it without having been sent away, as clients ask now and then.
    const [...drivers] = this.#drivers.values();
    const hears = drivers[stream.choose(drivers.length)];
    this.#time.after(endUs + pick(stream, [1, 20, 200]) * MS, () => hears?.hear());
    return endUs + 2_000 * MS;
  }

  /** All of a slot that was on its way is there. */
  #arrive(slot: number, { history }: Hit["reach"]): void {
    const migration = this.#migrations.get(slot);
    if (migration === undefined) return;
    this.#move(slot, (key) => hashSlot(key) === slot);
    this.#migrations.delete(slot);
    this.map = this.map.with(slot, migration.to);
    this.reliances.moves.push({ slot, atUs: this.#time.nowUs });
    history.add("world", `slot ${slot} is at ${migration.to.name}`);
  }

  #move(slot: number, isMeant: (key: string) => boolean): void {
    const migration = this.#migrations.get(slot);
    if (migration === undefined) return;
    const names = migration.from.keyNames.filter(isMeant);
    migration.from.give(migration.to, (key) => names.includes(key));
  }

  /** A slot goes to a master whose replica does not hear of it for a while. */
  moveAhead(hit: Hit): number | undefined {
    const movedUs = this.moveSlot(hit);
    const [link] = [...this.#migrations.values()].at(-1)?.to.replicas ?? [];
    if (movedUs === undefined || link === undefined) return movedUs;
    const endUs = movedUs + pick(hit.stream, BEHIND_MS) * MS;
    link.stop(endUs);
    return endUs;
  }

  /**
   * A slot goes on to a master whose replica does not hear of it, at once when somebody has asked the first one whether it has what he
   * holds; that answer is late.
   */
  moveOn(hit: Hit): number | undefined {
    const { stream, reach } = hit;
    const movedUs = this.moveSlot(hit);
    const [slot, migration] = [...this.#migrations].at(-1) ?? [];
    if (movedUs === undefined || slot === undefined || migration === undefined) return movedUs;
    const others = this.map.masters.filter((master) => master !== migration.to);
    const next = others[stream.choose(others.length)];
    const behindUs = pick(stream, BEHIND_MS) * MS;
    const lateUs = pick(stream, [300, 50, 900]) * MS;
    const heardUs = pick(stream, [1, 20, 200]) * MS;
    const untilUs = this.#time.nowUs + movedUs + ASKED_WITHIN_US;
    this.#whenConfirmed.set(slot, (by, server) => {
      const isThere = server === migration.to && this.map.ownerOf(slot) === server;
      const isFree =
        this.#failing === undefined && !this.#migrations.has(slot) && this.#time.nowUs <= untilUs;
      if (!isThere || !isFree || next === undefined || !this.map.masters.includes(next)) return;
      this.#whenConfirmed.delete(slot);
      for (const link of next.replicas) link.stop(behindUs);
      this.#migrations.set(slot, { from: server, to: next });
      this.#arrive(slot, reach);
      // The answer is on its way by then.
      this.#time.after(1, () => {
        const node = reach.nodes().find(({ process }) => process.name === by);
        for (const line of node?.lines ?? [])
          if (line.server() === server) line.commands.hold("back", lateUs);
      });
      this.#time.after(heardUs, () => this.#drivers.get(by)?.hear());
    });
    return movedUs + ASKED_WITHIN_US + behindUs;
  }

  /** A slot goes to a master whose replica does not hear of it, and that one dies soon. */
  moveAndDie(hit: Hit): number | undefined {
    const movedUs = this.moveSlot(hit);
    const [slot, migration] = [...this.#migrations].at(-1) ?? [];
    const to = migration?.to;
    const [link] = to?.replicas ?? [];
    if (movedUs === undefined || slot === undefined || to === undefined || link === undefined) return movedUs;
    const diesUs = movedUs - 2_000 * MS + pick(hit.stream, [10, 300, 1_000, 2_500]) * MS;
    link.stop(diesUs + 1 * MS);
    if (oneIn(hit.stream, 3)) {
      const awakeUs = this.#time.nowUs + diesUs + 2 * this.#leastDeadMs * MS;
      this.#time.after(movedUs - 2_000 * MS, () => this.#sleep(hit, slot, awakeUs));
    }
    this.#time.after(diesUs, () => {
      link.end();
      if (this.failover(hit, to, link) === undefined) this.rejoin(to, link.replica);
    });
    return diesUs + (this.#leastDeadMs + Math.max(...TAKES_LONGER_MS)) * MS + 6_000 * MS;
  }

  /** A process that believes to have something of a slot stands still for a while. */
  #sleep({ reach }: Hit, slot: number, untilUs: number): void {
    const [process] = believersOf(slot, reach);
    if (process === undefined) return;
    process.stop();
    reach.history.add("world", `${process.name} stands still until ${untilUs / MS} ms`);
    reach.trouble.begin("stop", process.name, untilUs - this.#time.nowUs, true);
    this.#time.at(untilUs, () => process.continue());
  }

  /** A master dies, and its replica takes over; the old one comes back as a replica. */
  failover(hit: Hit, old: SimServer = hit.server, cutOff?: ReplicaLink): number | undefined {
    const { stream, reach } = hit;
    const [link = cutOff] = old.replicas;
    if (this.#failing !== undefined || this.#migrations.size > 0 || link === undefined) return undefined;
    if (!this.map.masters.includes(old)) return undefined;
    this.#failing = { master: old, heir: link.replica };
    old.gate.shut();
    // What was on its way to its replica is lost with it, or is not.
    if (oneIn(stream, 2)) link.end();
    cutAll(old, hit);
    const promotedUs = (this.#leastDeadMs + pick(stream, TAKES_LONGER_MS)) * MS;
    const backUs = promotedUs + pick(stream, [3_000, 100]) * MS;
    const { nowUs } = this.#time;
    this.reliances.losses.push({
      fromUs: nowUs,
      untilUs: nowUs + backUs,
      goesOn: false,
    });
    this.#time.after(promotedUs, () => {
      const { replica } = link;
      reach.history.add(
        "world",
        `${replica.name} takes over from ${old.name}, with ${replica.offset} of ${old.offset}`,
      );
      for (const each of [...old.replicas]) each.end();
      replica.isReadOnly = false;
      this.map = this.map.replaced(old, replica);
      this.#promotedUs.set(replica, this.#time.nowUs);
      this.#time.after(backUs - promotedUs, () => {
        this.#follow(replica, old);
        old.gate.open();
        this.#failing = undefined;
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

/** Those who believe to have something of a slot. */
function believersOf(slot: number, { checker }: Hit["reach"]): readonly SimProcess[] {
  const isOfSlot = ({ name }: Part) => hashSlot(name) === slot;
  return checker.believed.filter(({ parts }) => parts.some(isOfSlot)).map(({ process }) => process);
}

const TRY_AGAIN = "TRYAGAIN Multiple keys request during rehashing of slot";
