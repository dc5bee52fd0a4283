import { inspect } from "node:util";
import { replaceEnvironment } from "../../src/environment.js";
import type { RawReply, ScriptCall } from "../../src/protocol/script-call.js";
import { Checker } from "./checker/checker.js";

import { Costs } from "./checker/costs.js";
import { DataLosses } from "./checker/data-losses.js";

import { ForcedUnlocks } from "./checker/excuses.js";
import { FailoverLosses } from "./checker/failover-losses.js";
import { History } from "./checker/history.js";
import { wrongKeys } from "./checker/keys.js";
import { lookForLeftovers } from "./checker/leftovers.js";
import { Listeners } from "./checker/listeners.js";
import { Occupied } from "./checker/occupied.js";
import { Progress } from "./checker/progress.js";
import { Signals } from "./checker/signals.js";
import { SleptThrough } from "./checker/slept-through.js";
import { States } from "./checker/states.js";
import { TableCheck } from "./checker/tables.js";
import { Trouble } from "./checker/trouble.js";
import type { Watch } from "./checker/watch.js";
import type { Chooser } from "./chooser/chooser.js";
import { between, oneIn, pick } from "./draw.js";
import type { Outcome } from "./outcome.js";
import type { ScheduleOptions } from "./schedule.js";
import { Caller } from "./workload/caller.js";
import { clientStep } from "./workload/client-steps.js";
import { familyOf, KINDS } from "./workload/families.js";
import type { Shared } from "./workload/family.js";
import { forJvm } from "./workload/jvm-steps.js";
import type { Member, Scene } from "./workload/member.js";
import { planClient, planServerEpoch } from "./workload/plan.js";
import { Faults } from "./world/faults.js";
import { type Node, startNode } from "./world/fleet.js";
import { JvmProcess } from "./world/jvm-process.js";
import { OwnEnvironment } from "./world/own-environment.js";
import type { SimServer } from "./world/sim-server.js";
import { drawTopology, kindsOf, makeTopology, TOPOLOGY_NAMES, type Topology } from "./world/topology.js";
import { trap } from "./world/trap.js";
import { turn } from "./world/turns.js";
import { VirtualTime } from "./world/virtual-time.js";

const MS = 1_000;
/** How often it is looked at whether somebody waits for too long. */
const GLANCE_US = 500 * MS;
/** The longest hold of a task, by the longest watchdog. */
const LONGEST_MS = 60_000;

/** lockWatchdogTimeout of the JVMs. */
const FLEET_WATCHDOG_MS = 3_000;

export class Run {
  readonly #chooser: Chooser;
  readonly #trace: boolean;
  readonly #time = new VirtualTime(turn);
  readonly #history = new History(this.#time);
  readonly #trouble = new Trouble(this.#time);
  readonly #checker = new Checker(this.#time, this.#history);
  readonly #signals = new Signals(this.#time, this.#checker, this.#trouble);
  readonly #costs = new Costs(this.#time, this.#checker);
  readonly #listeners = new Listeners(this.#checker);
  readonly #tables = new TableCheck(this.#checker);
  readonly #nodes: Node[] = [];
  readonly #scene: Scene;
  readonly #topology: Topology;
  readonly #faults: Faults;
  readonly #environment: OwnEnvironment;
  readonly #processes: number;
  readonly #watches = new Map<string, Watch>();
  readonly #forced = new ForcedUnlocks(this.#time);
  readonly #progress = new Progress(this.#time, this.#checker, this.#trouble, (name) =>
    this.#watches.has(name),
  );
  readonly #states = new States();
  #commands = 0;
  #running = 0;
  #restarts = 0;
  #isEnding = false;
  #jvm: JvmProcess | undefined;

  constructor({ chooser, only, topology: wanted, trace = false }: ScheduleOptions) {
    this.#chooser = chooser;
    this.#trace = trace;
    const chance = chooser.stream("environment");
    this.#environment = new OwnEnvironment((count) => chance.choose(count));
    const plan = chooser.stream("plan");
    const isWanted = (kind: string) => only === undefined || only.includes(kind);
    const place = chooser.stream("topology");
    const topologies = TOPOLOGY_NAMES.filter((name) => kindsOf(name, KINDS).some(isWanted));
    const topology = drawTopology(place, wanted === undefined ? topologies : [wanted]);
    const kinds = kindsOf(topology, KINDS).filter(isWanted);
    const shared: Shared[] = [];
    for (let at = between(plan, 1, 3); at > 0; at -= 1) {
      const kind = kinds[plan.choose(kinds.length)];
      if (kind !== undefined) shared.push({ kind, name: `n${shared.length}` });
    }
    // Each try of those that wait for a red lock asks three or five servers.
    this.#processes = between(plan, 2, topology === "red" ? 3 : 4);
    const occupied = new Occupied(
      this.#time,
      shared.flatMap((each) => familyOf(each).heldKeys(each)),
    );
    this.#scene = {
      chooser,
      checker: this.#checker,
      history: this.#history,
      trouble: this.#trouble,
      occupied,
      signals: this.#signals,
      environment: this.#environment,
      shared,
      nowUs: () => this.#time.nowUs,
      watchOf: (name, sort) => {
        const watch = this.#watches.get(name);
        if (watch instanceof sort) return watch;
        throw new RangeError(`nothing watches "${name}" that is a ${sort.name}`);
      },
      forget: (permits) => this.#environment.forget(permits),
    };
    this.#topology = makeTopology(topology, {
      time: this.#time,
      epochMs: () => planServerEpoch(place),
      watch: {
        starts: (server, call) => {
          for (const watch of this.#watches.values()) watch.starts(server, call);
        },
        ran: (server, call, by, answer) => this.#ran(server, call, by, answer),
      },
      stream: place,
    });
    for (const each of shared) this.#watch(each);
    this.#checker.whenChanged = (believed) => this.#states.add(this.#topology.servers, believed);
    this.#checker.excuses.push(this.#forced, new DataLosses(this.#trouble));
    const { reliances } = this.#topology;
    if (reliances !== undefined) {
      this.#checker.excuses.push(new FailoverLosses(reliances), new SleptThrough(this.#trouble, reliances));
    }
    this.#faults = new Faults(
      chooser,
      this.#processes,
      topology,
      shared.map(({ kind }) => kind),
    );
  }

  #watch(shared: Shared): void {
    const watch = familyOf(shared).watch?.({
      ...shared,
      time: this.#time,
      checker: this.#checker,
      trouble: this.#trouble,
      server: this.#topology.servers[0],
      stream: this.#chooser.stream(`${shared.name}.setting`),
    });
    if (watch !== undefined) this.#watches.set(shared.name, watch);
  }

  async play(): Promise<Outcome> {
    trap.on(() => this.#time.nowUs);
    const restore = replaceEnvironment(this.#environment);
    const onUnhandled = (reason: unknown) =>
      this.#checker.fail("leftovers", `nobody handles the rejection ${inspect(reason)}`);
    process.on("unhandledRejection", onUnhandled);
    // Members of a red lock are lost that nobody was given.
    const isRed = this.#topology.name === "red";
    if (!isRed && oneIn(this.#chooser.stream("listeners"), 2)) this.#listeners.begin();
    try {
      await this.#play();
    } catch (error) {
      this.#checker.fail("world", error instanceof Error ? (error.stack ?? error.message) : String(error));
    } finally {
      this.#listeners.end();
      process.off("unhandledRejection", onUnhandled);
      restore();
      for (const { message, code } of this.#environment.warnings) {
        if (code === undefined)
          this.#checker.fail("leftovers", `a warning that is not documented: ${message}`);
      }
      for (const { rule, text } of trap.off()) this.#checker.fail(rule, text);
    }
    return this.#outcome();
  }

  async #play(): Promise<void> {
    this.#faults.begin({
      time: this.#time,
      history: this.#history,
      trouble: this.#trouble,
      checker: this.#checker,
      nodes: () => this.#nodes,
      topology: this.#topology,
      restart: () => this.#restart(),
    });
    for (let at = 0; at < this.#processes; at += 1) this.#start(`p${at}`);
    this.#startJvm();
    await this.#untilDone();
    this.#jvm?.kill();
    this.#isEnding = true;
    this.#faults.end();
    if (this.#checker.hasFailed) return;
    this.#listeners.compare(this.#scene.shared);
    await lookForLeftovers({
      time: this.#time,
      checker: this.#checker,
      trouble: this.#trouble,
      tables: this.#tables,
      environment: this.#environment,
      nodes: this.#nodes,
      servers: this.#topology.servers,
      shared: this.#scene.shared,
      longestMs: LONGEST_MS,
      hasJvm: this.#jvm !== undefined,
    });
    for (const watch of this.#watches.values()) watch.end();
  }

  /** One of the fleet may be a JVM. */
  #startJvm(): void {
    const stream = this.#chooser.stream("jvm0");
    const shared = forJvm(this.#scene.shared);
    if (this.#topology.name !== "standalone" || shared.length === 0 || !oneIn(stream, 4)) return;
    this.#progress.jvmTakesPart();
    this.#jvm = new JvmProcess({
      time: this.#time,
      chooser: this.#chooser,
      server: this.#topology.servers[0],
      watchdogMs: FLEET_WATCHDOG_MS,
      random: () => this.#environment.random(),
    });
    const threads = between(stream, 1, 2);
    for (let at = 1; at <= threads; at += 1) void this.#jvm.work(at, this.#scene, shared);
  }

  #start(name: string): void {
    const stream = this.#chooser.stream(name);
    const plan = planClient(stream, FLEET_WATCHDOG_MS);
    this.#progress.takesPart(plan);
    const node = startNode(this.#topology, {
      name,
      time: this.#time,
      chooser: this.#chooser,
      plan,
      watch: this.#faults,
      history: this.#history,
    });
    this.#nodes.push(node);
    this.#tables.began(node);
    const [holdfast] = node.clients;
    const member: Member = { ...node, holdfast, plan, whenCalled: new Set(), isClosing: false };
    const tasks = between(stream, 1, 3);
    for (let at = 0; at < tasks; at += 1) void this.#task(`${name}.${at}`, member);
  }

  #restart(): void {
    if (this.#restarts >= 2 || this.#isEnding) return;
    this.#restarts += 1;
    this.#start(`r${this.#restarts}`);
  }

  async #task(name: string, member: Member): Promise<void> {
    const stream = this.#chooser.stream(name);
    const caller = new Caller(name, this.#scene, member, stream);
    this.#running += 1;
    let isDone = false;
    const done = () => {
      if (!isDone) this.#running -= 1;
      isDone = true;
    };
    member.process.gate.whenGone(done);
    try {
      const steps = between(stream, 1, 4);
      for (let at = 0; at < steps; at += 1) {
        await caller.pause(pick(stream, [1, 0, 0, 10, 100]));
        const shared = this.#scene.shared[stream.choose(this.#scene.shared.length)];
        if (oneIn(stream, 16)) await clientStep(caller);
        if (shared !== undefined) await familyOf(shared).step(caller, shared);
      }
    } catch (error) {
      this.#checker.fail("world", `${name}: ${error instanceof Error ? error.stack : String(error)}`);
    }
    done();
  }

  async #untilDone(): Promise<void> {
    while (this.#running > 0 && !this.#checker.hasFailed) {
      await this.#time.pass(
        this.#time.nowUs + GLANCE_US,
        () => this.#running === 0 || this.#checker.hasFailed,
      );
      this.#glance();
    }
  }

  /** Nobody waits for longer than is promised. */
  #glance(): void {
    this.#checker.look();
    this.#signals.look();
    for (const watch of this.#watches.values()) watch.glance();
    const terms = { longestMs: LONGEST_MS, hasJvm: this.#jvm !== undefined };
    for (const server of this.#topology.servers) {
      for (const text of wrongKeys(server.keys, this.#scene.shared, terms)) {
        this.#checker.fail("leftovers", text);
      }
    }
    this.#progress.glance(this.#checker.calls);
  }

  #ran(server: SimServer, call: ScriptCall, by: string, answer: RawReply | Error): void {
    this.#commands += 1;
    // What has waited at a server that stood still comes all at once, when its time is over.
    const isLate = Array.isArray(answer) && answer[1] === "late";
    if (!isLate && by !== "jvm0") this.#costs.ran(`${by} at ${server.name}`, call.script.name);
    const text = answer instanceof Error ? answer.message : JSON.stringify(answer);
    this.#history.add(server.name, `${by} ${call.script.name} ${call.keys.join(" ")} -> ${text}`);
    if (this.#trace)
      this.#history.add(server.name, `  ${call.args.join(" ")} | ${JSON.stringify(server.keys)}`);
    // A question about the server itself names a key only so that it reaches one.
    if (call.script.name !== "server-probe") {
      this.#scene.occupied.look(server, call.keys, by, call.script.name.includes("acquire"));
    }
    if (call.script.name.endsWith("force-unlock")) this.#forced.forced(call.keys[0] ?? "", this.#time.nowUs);
    for (const watch of this.#watches.values()) watch.ran(server, call, by, answer);
    this.#checker.look();
    this.#signals.look();
  }

  #outcome(): Outcome {
    const { violations, exceptions } = this.#checker;
    return {
      violations,
      digest: this.#history.digest(),
      history: this.#history.lines,
      stats: {
        commands: this.#commands,
        kinds: [...new Set(this.#scene.shared.map(({ kind }) => kind))],
        faults: this.#trouble.hits,
        states: [...this.#states.seen],
        longestWaitMs: this.#progress.longestWaitMs,
        exceptions,
      },
    };
  }
}
