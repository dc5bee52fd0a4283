import { createHash } from "node:crypto";
import { replaceEnvironment } from "../../../src/environment.js";
import type { RawReply, ScriptCall } from "../../../src/protocol/script-call.js";
import { sources } from "../../support/all-scripts.js";
import { Checker } from "../checker/checker.js";
import { ForcedUnlocks } from "../checker/excuses.js";
import { History } from "../checker/history.js";
import { Holders } from "../checker/holders.js";
import { Keyspace } from "../checker/keyspace.js";
import { lookForLeftovers } from "../checker/leftovers.js";
import { Losses } from "../checker/losses.js";
import { Occupied } from "../checker/occupied.js";
import { Signals } from "../checker/signals.js";
import { TableCheck } from "../checker/tables.js";
import { Trouble } from "../checker/trouble.js";
import { recordedChooser } from "../chooser/recorded.js";
import type { HistoryLine, Violation } from "../outcome.js";
import { familyOf } from "../workload/families.js";
import type { Member, Scene } from "../workload/member.js";
import { type ClientPlan, planClient } from "../workload/plan.js";
import { type Node, startNode } from "../world/fleet.js";
import type { SimServer } from "../world/sim-server.js";
import { isSynchronizer, makeTopology, type Topology } from "../world/topology.js";
import { trap } from "../world/trap.js";
import { turn } from "../world/turns.js";
import { ActorEnvironment } from "./actor-environment.js";
import { ChosenTime, GLANCE_US } from "./chosen-time.js";
import { Deeds } from "./deeds.js";
import { Player } from "./player.js";
import { NAME, type SceneDefinition } from "./scene.js";
import type { Order } from "./search.js";

/** What one run of a scene came to. */
export interface Played {
  readonly violations: readonly Violation[];
  readonly history: readonly HistoryLine[];
  /** What was left when all tasks had ended: the keys, and how each call ended. Undefined when the run was broken off. */
  readonly endState: string | undefined;
  readonly faults: number;
  readonly steps: number;
}

const MS = 1_000;
const EPOCH_MS = 1_795_132_800_000;
const LONGEST_MS = 30_000;
const LATEST_MS = 100_000;
/** Copies of a command arrive within a command timeout, and are undone after that. No lease is as short. */
const GIVEN_BACK_MS = 5_000;
/** Within twice that time a server has forgotten what it has answered. */
const MEMORY_MS = 60_000;
/** A red lock has three. */
const SERVERS = ["s0", "s1", "s2"];

export async function playOnce(definition: SceneDefinition, order: Order): Promise<Played> {
  return new Playing(definition, order).play();
}

class Playing {
  readonly #definition: SceneDefinition;
  readonly #order: Order;
  readonly #time = new ChosenTime(turn, SERVERS);
  readonly #seen = this.#time.seen;
  readonly #history = new History(this.#time);
  readonly #trouble = new Trouble(this.#seen);
  readonly #checker = new Checker(this.#seen, this.#history);
  readonly #environment = new ActorEnvironment(() => this.#time.actor);
  readonly #nodes: Node[] = [];
  readonly #players: Player[] = [];
  readonly #heldKeys: readonly string[];
  readonly #holders: Holders;
  readonly #losses: Losses;
  readonly #scene: Scene;
  readonly #topology: Topology;
  readonly #tables = new TableCheck(this.#checker);
  readonly #deeds: Deeds;
  readonly #inside = { count: 0 };
  #running = 0;

  constructor(definition: SceneDefinition, order: Order) {
    this.#definition = definition;
    this.#order = order;
    const shared = { kind: definition.kind, name: NAME };
    this.#heldKeys = definition.heldKeys?.(shared) ?? familyOf(shared).heldKeys(shared);
    const keyspace = new Keyspace(this.#seen, this.#heldKeys);
    this.#holders = new Holders(this.#seen, keyspace);
    this.#losses = new Losses(this.#checker, this.#trouble, this.#holders);
    this.#scene = {
      chooser: recordedChooser({}),
      checker: this.#checker,
      history: this.#history,
      trouble: this.#trouble,
      occupied: new Occupied(this.#seen, this.#heldKeys),
      shared: [shared],
      nowUs: () => this.#seen.nowUs,
      watchOf: (name) => {
        throw new RangeError(`nothing watches "${name}" in a scene`);
      },
      forget: (permits) => this.#environment.forget(permits),
      signals: new Signals(this.#time, this.#checker, this.#trouble, this.#losses),
      losses: this.#losses,
      redTerms: undefined,
      fires: undefined,
      keyspace,
      holders: this.#holders,
      environment: this.#environment,
    };
    this.#checker.excuses.push(new ForcedUnlocks(this.#seen, this.#holders, this.#trouble));
    this.#topology = makeTopology(definition.kind === "red" ? "red" : "standalone", {
      time: this.#time,
      epochMs: () => EPOCH_MS,
      watch: {
        starts: (server, call) => this.#starts(server, call),
        channel: (server, channel, use) => this.#channel(server, channel, use),
        ran: (server, call, by, answer) => this.#ran(server, call, by, answer),
      },
      stream: this.#scene.chooser.stream("topology"),
    });
    for (const server of this.#topology.servers) {
      for (const { sha1 } of Object.values(sources)) server.learn(sha1);
    }
    const { bound } = definition;
    this.#deeds = new Deeds({
      time: this.#time,
      nodes: this.#nodes,
      trouble: this.#trouble,
      history: this.#history,
      sorts: bound.sorts,
      most: bound.faults,
    });
  }

  async play(): Promise<Played> {
    trap.on(() => this.#time.nowUs);
    const restore = replaceEnvironment(this.#environment);
    let endState: string | undefined;
    try {
      endState = await this.#play();
    } catch (error) {
      this.#checker.fail("world", error instanceof Error ? (error.stack ?? error.message) : String(error));
    } finally {
      // What is young outlives no run.
      this.#environment.forgetAll();
      restore();
      for (const { rule, text } of trap.off()) this.#checker.fail(rule, text);
    }
    return {
      violations: this.#checker.violations,
      history: this.#history.lines,
      endState,
      faults: this.#deeds.done,
      steps: this.#time.steps,
    };
  }

  async #play(): Promise<string | undefined> {
    const { processes, bound, promptMs = 0, prepare, atEnd } = this.#definition;
    const members = processes.map((_, at) => this.#start(`p${at}`));
    for (const member of members) await this.#warmUp(member);
    const [first] = members;
    if (prepare !== undefined && first !== undefined) await this.#prepare(prepare, first);
    for (const [at, tasks] of processes.entries()) {
      const member = members[at];
      if (member === undefined) continue;
      for (const [nth, task] of tasks.entries()) this.#begin(`p${at}.${nth}`, member, task);
    }
    const startUs = this.#time.nowUs;
    const isWhole = await this.#time.choose({
      order: this.#order,
      overtakes: bound.overtakes,
      overtaken: () => this.#overtaken(),
      deeds: () => this.#deeds.now(),
      look: () => this.#look(),
    });
    if (!isWhole) return undefined;
    const tookMs = (this.#time.nowUs - startUs) / MS;
    const isPlain = this.#deeds.done === 0 && !this.#time.hasOvertaken;
    if (isPlain && tookMs > promptMs && !this.#checker.hasFailed) {
      this.#checker.fail("progress", `it took ${tookMs} ms, although nothing was lost, and not ${promptMs}`);
    }
    await this.#time.pass(this.#time.nowUs);
    const endState = this.#endState();
    if (atEnd !== undefined && !this.#checker.hasFailed) await this.#judgeEnd(atEnd);
    if (!this.#checker.hasFailed) await this.#isGivenBack();
    if (this.#checker.hasFailed) return endState;
    await lookForLeftovers({
      time: this.#time,
      checker: this.#checker,
      trouble: this.#trouble,
      tables: this.#tables,
      environment: this.#environment,
      nodes: this.#nodes,
      servers: this.#topology.servers,
      shared: this.#scene.shared,
      longestMs: MEMORY_MS,
      hasJvm: false,
    });
    return endState;
  }

  #start(name: string): Member {
    const { options, rules = { resends: true, queues: true } } = this.#definition;
    const plainest = planClient(this.#scene.chooser.stream("plan"), LONGEST_MS);
    const plan: ClientPlan = {
      ...plainest,
      rules,
      options: { ...plainest.options, watchdogMs: LONGEST_MS, ...options },
    };
    const node = startNode(this.#topology, {
      name,
      time: this.#time,
      chooser: this.#scene.chooser,
      plan,
      watch: { reached: () => undefined },
      history: this.#history,
    });
    this.#nodes.push(node);
    this.#tables.began(node);
    const member: Member = {
      ...node,
      holdfast: node.clients[0],
      plan,
      bodies: undefined,
      whenCalled: new Set(),
      isClosing: false,
    };
    this.#holders.takesPart(member);
    return member;
  }

  /** So that the client knows its server before the scene begins. */
  async #warmUp({ clients }: Member): Promise<void> {
    let warm = 0;
    for (const client of clients) {
      void client
        .getLock("warm-up")
        .isLocked()
        .then(() => {
          warm += 1;
        });
    }
    await this.#time.pass(this.#time.nowUs, () => warm === clients.length);
  }

  async #prepare(prepare: (player: Player) => Promise<void>, member: Member): Promise<void> {
    let isReady = false;
    const player = new Player("first", this.#scene, member, this.#time, this.#inside);
    void prepare(player).then(() => {
      isReady = true;
    });
    await this.#time.pass(this.#time.nowUs, () => isReady);
  }

  #begin(name: string, member: Member, task: (player: Player) => Promise<void>): void {
    const { process } = member;
    const player = new Player(name, this.#scene, member, this.#time, this.#inside);
    this.#players.push(player);
    this.#running += 1;
    let isDone = false;
    const done = () => {
      if (!isDone) this.#running -= 1;
      isDone = true;
    };
    process.gate.whenGone(done);
    const run = () =>
      void task(player).then(done, (error: unknown) => {
        this.#checker.fail("world", `${name}: ${error instanceof Error ? error.stack : String(error)}`);
      });
    this.#time.after(0, run, { actor: process.name, queue: `${name} begins` });
  }

  /** What was on its way has been slow. */
  #overtaken(): void {
    this.#history.add("world", "what is on its way takes longer");
    for (const { process } of this.#nodes) this.#trouble.begin("slow", process.name, 0, true);
  }

  /** @returns whether the run goes on in an order of choice */
  #look(): boolean {
    this.#checker.look();
    const { latestMs = LATEST_MS } = this.#definition;
    if (this.#running > 0 && this.#time.nowUs > latestMs * MS && !this.#checker.hasFailed) {
      const calls = [...this.#checker.calls.pending].map(({ what }) => what);
      this.#checker.fail("progress", `after ${latestMs} ms this is still under way: ${calls.join(", ")}`);
    }
    return this.#running > 0 && !this.#checker.hasFailed;
  }

  #channel({ name }: SimServer, channel: string, use: "listened" | "used"): void {
    const { footprint } = this.#time;
    if (use === "listened") footprint.changes(`${name} channel ${channel}`);
    else footprint.uses(`${name} channel ${channel}`);
  }

  #starts(server: SimServer, call: ScriptCall): void {
    const { name } = server;
    const { script, keys } = call;
    this.#holders.starts(server, call);
    for (const key of keys) this.#time.footprint.changes(`${name} key ${key}`);
    if (script.name.endsWith("force-unlock")) this.#trouble.begin("force-unlock", NAME, 0, true);
  }

  #ran(server: SimServer, call: ScriptCall, by: string, answer: RawReply | Error): void {
    const text = answer instanceof Error ? answer.message : JSON.stringify(answer);
    this.#history.add(server.name, `${by} ${call.script.name} ${call.keys.join(" ")} -> ${text}`);
    const before = this.#occupancy();
    const acquired = call.script.name.includes("acquire") ? answer : undefined;
    this.#scene.occupied.look(server, call.keys, by, acquired);
    this.#holders.ran(server, call, by);
    if (this.#occupancy() !== before) this.#time.footprint.changes("occupied");
    this.#checker.look();
  }

  #occupancy(): string {
    return this.#heldKeys
      .map((key) => this.#scene.occupied.wasTaken(key, this.#seen.nowUs + GLANCE_US / 2))
      .join();
  }

  async #judgeEnd(atEnd: NonNullable<SceneDefinition["atEnd"]>): Promise<void> {
    const live = this.#players.find(({ member }) => !member.process.isDead);
    if (live === undefined) return;
    let isJudged = false;
    void atEnd(live).then(
      (complaint) => {
        isJudged = true;
        if (complaint !== undefined) this.#checker.fail("conservation", complaint);
      },
      (error: unknown) => this.#checker.fail("world", String(error)),
    );
    await this.#time.pass(this.#time.nowUs + LATEST_MS * MS, () => isJudged || this.#checker.hasFailed);
  }

  /** Nobody waits until a lease has run out: what was not given back by its call is so behind the scenes. */
  async #isGivenBack(): Promise<void> {
    const { kind } = this.#definition;
    const isLeft = this.#players.some(({ member }) => member.isClosing || member.process.isDead);
    if (isLeft || isSynchronizer(kind)) return;
    await this.#time.pass(this.#time.nowUs + GIVEN_BACK_MS * MS);
    for (const { name, keys } of this.#topology.servers) {
      const left = this.#heldKeys.filter((key) => keys[key] !== undefined);
      if (left.length === 0) continue;
      this.#checker.fail("leftovers", `${name} has ${left.join(", ")}, although all calls have ended`);
    }
  }

  #endState(): string {
    const keys = this.#topology.servers.flatMap(({ name, keys: its }) =>
      Object.entries(its).map(([key, { ttlMs, ...what }]) => [name, key, ttlMs >= 0, what]),
    );
    const outcomes = this.#players.map(({ name, outcomes: its }) => [name, its]);
    return createHash("sha256")
      .update(JSON.stringify([keys.sort(), outcomes]))
      .digest("hex")
      .slice(0, 16);
  }
}
