import { inspect } from "node:util";
import { replaceEnvironment } from "../../src/environment.js";
import type { RawReply, ScriptCall } from "../../src/protocol/script-call.js";
import { Backed } from "./checker/backed.js";
import { Checker } from "./checker/checker.js";
import { Costs } from "./checker/costs.js";
import { DataLosses } from "./checker/data-losses.js";
import { Deposed } from "./checker/deposed.js";
import { ForcedUnlocks } from "./checker/excuses.js";
import { FailoverLosses } from "./checker/failover-losses.js";
import { Fires } from "./checker/fires.js";
import { History } from "./checker/history.js";
import { Holders } from "./checker/holders.js";
import { wrongKeys } from "./checker/keys.js";
import { Keyspace } from "./checker/keyspace.js";
import { isLate } from "./checker/late-calls.js";
import { lookForLeftovers } from "./checker/leftovers.js";
import { Listeners } from "./checker/listeners.js";
import { LockWatch } from "./checker/lock-watch.js";
import { Losses } from "./checker/losses.js";
import { Occupied } from "./checker/occupied.js";
import { Orphans } from "./checker/orphans.js";
import { Progress } from "./checker/progress.js";
import { RedTerms } from "./checker/red-terms.js";
import { Signals } from "./checker/signals.js";
import { SleptThrough } from "./checker/slept-through.js";
import { States } from "./checker/states.js";
import { StoredHolds } from "./checker/stored-holds.js";
import { TableCheck } from "./checker/tables.js";
import { ToldCounts } from "./checker/told-counts.js";
import { Trouble } from "./checker/trouble.js";
import type { Watch } from "./checker/watch.js";
import type { Chooser } from "./chooser/chooser.js";
import { between, oneIn, pick } from "./draw.js";
import type { Outcome } from "./outcome.js";
import type { ScheduleOptions } from "./schedule.js";
import { Bodies } from "./workload/bodies.js";
import { Caller } from "./workload/caller.js";
import { clientStep } from "./workload/client-steps.js";
import { familyOf, KINDS } from "./workload/families.js";
import type { Shared } from "./workload/family.js";
import { fleetStep } from "./workload/fleet-steps.js";
import { forJvm } from "./workload/jvm-steps.js";
import type { Member, Scene } from "./workload/member.js";
import { drawMix, type Mix, planIn } from "./workload/mixes.js";
import { planCalls, planClient, planServerEpoch, withPresence } from "./workload/plan.js";
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
  readonly #costs = new Costs(this.#time, this.#checker, this.#trouble);
  readonly #tables = new TableCheck(this.#checker);
  readonly #nodes: Node[] = [];
  readonly #holders: Holders;
  readonly #losses: Losses;
  readonly #signals: Signals;
  readonly #listeners: Listeners;
  readonly #told: ToldCounts;
  readonly #scene: Scene;
  readonly #topology: Topology;
  readonly #faults: Faults;
  readonly #environment: OwnEnvironment;
  readonly #processes: number;
  readonly #mix: Mix | undefined;
  readonly #hasJvm: boolean;
  readonly #watches = new Map<string, Watch>();
  readonly #dataLosses = new DataLosses(this.#time);
  #lockWatch: LockWatch | undefined;
  readonly #orphans: Orphans;
  readonly #progress = new Progress(this.#time, this.#checker, this.#trouble, (name) =>
    this.#watches.has(name),
  );
  readonly #states = new States();
  readonly #backed: Backed | undefined;
  readonly #deposed: Deposed | undefined;
  readonly #storedHolds: StoredHolds | undefined;
  readonly #redTerms: RedTerms | undefined;
  readonly #fires: Fires | undefined;
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
    const processes = between(plan, 2, topology === "red" ? 3 : 4);
    const ofMix = chooser.stream("mix");
    const drawn = topology === "standalone" ? drawMix(ofMix, kinds) : undefined;
    this.#mix = drawn?.mix;
    if (drawn !== undefined) {
      const ofName = [drawn.kind, ...(drawn.mix.besides ?? [])].map((kind) => ({ kind, name: "n0" }));
      shared.splice(0, shared.length, ...ofName);
    }
    this.#processes = drawn === undefined ? processes : between(ofMix, ...drawn.mix.processes);
    const heldKeys = shared.flatMap((each) => familyOf(each).heldKeys(each));
    const occupied = new Occupied(this.#time, heldKeys);
    const keyspace = new Keyspace(this.#time, heldKeys);
    this.#holders = new Holders(this.#time, keyspace);
    this.#losses = new Losses(this.#checker, this.#trouble, this.#holders);
    this.#signals = new Signals(this.#time, this.#checker, this.#trouble, this.#losses);
    this.#listeners = new Listeners({
      checker: this.#checker,
      losses: this.#losses,
      holders: this.#holders,
      trouble: this.#trouble,
    });
    this.#told = new ToldCounts(
      this.#checker,
      this.#trouble,
      shared.map(({ kind }) => kind),
    );
    this.#redTerms = topology === "red" ? new RedTerms(this.#time, this.#checker, keyspace) : undefined;
    this.#fires =
      topology === "standalone"
        ? new Fires(() => this.#time.nowUs, this.#checker, this.#dataLosses)
        : undefined;
    this.#scene = {
      chooser,
      checker: this.#checker,
      history: this.#history,
      trouble: this.#trouble,
      occupied,
      signals: this.#signals,
      losses: this.#losses,
      redTerms: this.#redTerms,
      keyspace,
      holders: this.#holders,
      fires: this.#fires,
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
          this.#holders.starts(server, call);
          this.#lockWatch?.starts(server, call);
          for (const watch of this.#watches.values()) watch.starts(server, call);
        },
        published: (_, channel, message, heard) => {
          this.#lockWatch?.published(channel, message, heard);
          for (const watch of this.#watches.values()) watch.published?.(channel, message, heard);
        },
        ran: (server, call, by, answer) => this.#ran(server, call, by, answer),
      },
      stream: place,
    });
    for (const each of shared) this.#watch(each);
    this.#hasJvm = this.#drawJvm();
    const parts = { time: this.#time, checker: this.#checker, trouble: this.#trouble, shared };
    const isOurs = topology === "standalone" && !this.#hasJvm;
    if (isOurs) this.#lockWatch = new LockWatch(parts);
    this.#orphans = new Orphans({ ...parts, topology: this.#topology });
    this.#checker.whenChanged = (believed) => this.#states.add(this.#topology.servers, believed);
    const forced = new ForcedUnlocks(this.#time, this.#holders, this.#trouble);
    this.#checker.excuses.push(forced, this.#dataLosses);
    if (isOurs) {
      this.#storedHolds = new StoredHolds({
        time: this.#time,
        checker: this.#checker,
        keyspace,
        mayLack: (name, belief) => forced.mayBelieve(name, belief) || this.#dataLosses.mayLack(belief),
      });
    }
    const { reliances } = this.#topology;
    if (reliances !== undefined) {
      const slept = new SleptThrough(this.#time, this.#trouble, reliances);
      this.#checker.excuses.push(new FailoverLosses(reliances, this.#trouble), slept);
      this.#deposed = new Deposed(this.#checker, this.#trouble, reliances);
      this.#backed = new Backed(this.#time, this.#checker, this.#trouble, this.#holders, this.#topology);
    }
    this.#faults = new Faults(
      chooser,
      this.#processes,
      topology,
      shared.map(({ kind }) => kind),
      this.#mix,
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
    const { stackTraceLimit } = Error;
    // What a reply, a timeout or a closed client makes of errors is much of a run's work, and hardly one is looked at.
    if (!this.#trace) Error.stackTraceLimit = 0;
    const restore = replaceEnvironment(this.#environment);
    const onUnhandled = (reason: unknown) =>
      this.#checker.fail("leftovers", `nobody handles the rejection ${inspect(reason)}`);
    process.on("unhandledRejection", onUnhandled);
    // Members of a red lock are lost that nobody was given.
    const isRed = this.#topology.name === "red";
    if (!isRed && oneIn(this.#chooser.stream("listeners"), 2)) {
      this.#listeners.begin();
      this.#told.begin();
    }
    try {
      await this.#play();
    } catch (error) {
      this.#checker.fail("world", error instanceof Error ? (error.stack ?? error.message) : String(error));
    } finally {
      this.#listeners.end();
      this.#told.end();
      process.off("unhandledRejection", onUnhandled);
      // What is young outlives no run.
      this.#environment.forgetAll();
      restore();
      Error.stackTraceLimit = stackTraceLimit;
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
      losses: this.#dataLosses,
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
    await this.#orphans.end();
    if (this.#checker.hasFailed) return;
    this.#listeners.compare(this.#scene.shared);
    this.#costs.compare(this.#scene.shared);
    await lookForLeftovers({
      time: this.#time,
      checker: this.#checker,
      trouble: this.#trouble,
      tables: this.#tables,
      told: this.#told,
      environment: this.#environment,
      nodes: this.#nodes,
      servers: this.#topology.servers,
      shared: this.#scene.shared,
      longestMs: LONGEST_MS,
      hasJvm: this.#jvm !== undefined,
    });
    for (const watch of this.#watches.values()) watch.end();
    this.#fires?.end();
  }

  /** One of the fleet may be a JVM. */
  #drawJvm(): boolean {
    const shared = forJvm(this.#scene.shared);
    if (this.#topology.name !== "standalone" || shared.length === 0) return false;
    if (this.#mix !== undefined) return this.#mix.jvm !== undefined;
    return oneIn(this.#chooser.stream("jvm0"), 4);
  }

  #startJvm(): void {
    const stream = this.#chooser.stream("jvm0");
    const shared = forJvm(this.#scene.shared);
    if (!this.#hasJvm) return;
    this.#jvm = new JvmProcess({
      time: this.#time,
      chooser: this.#chooser,
      server: this.#topology.servers[0],
      watchdogMs: FLEET_WATCHDOG_MS,
      random: () => this.#environment.random(),
    });
    const { holdsMs, diesAfterMs } = this.#mix?.jvm ?? {};
    const threads = between(stream, 1, 2);
    const queued = shared.filter(({ kind }) => kind === "fair" || kind === "non-reentrant fair");
    this.#progress.jvmTakesPart(
      threads,
      queued.flatMap((each) => familyOf(each).heldKeys(each)),
    );
    for (let at = 1; at <= threads; at += 1) void this.#jvm.work(at, this.#scene, shared, holdsMs);
    if (diesAfterMs !== undefined) this.#jvm.dieAfter(pick(stream, diesAfterMs), this.#scene);
  }

  #start(name: string): void {
    const stream = this.#chooser.stream(name);
    const usual = planClient(stream, FLEET_WATCHDOG_MS);
    const mix = this.#mix;
    const own = this.#chooser.stream(`${name}.mix`);
    const planned = mix === undefined ? usual : planIn(mix, usual, own, this.#nodes.length);
    const called = { ...planned, ...planCalls(this.#chooser.stream(`${name}.calls`)) };
    const plan = withPresence(called, this.#chooser.stream(`${name}.presence`));
    const bodies = plan.hasAround ? new Bodies(name, this.#checker) : undefined;
    this.#progress.takesPart(plan);
    const node = startNode(this.#topology, {
      name,
      time: this.#time,
      chooser: this.#chooser,
      plan,
      around: bodies?.around,
      watch: {
        reached: (link, moment, nth) => this.#faults.reached(link, moment, nth),
        heard: (process, keys, ranUs) => this.#holders.heard(process, keys, ranUs),
      },
      history: this.#history,
    });
    this.#nodes.push(node);
    this.#tables.began(node);
    this.#costs.takesPart(node, plan);
    const [holdfast] = node.clients;
    const member: Member = { ...node, holdfast, plan, bodies, whenCalled: new Set(), isClosing: false };
    this.#holders.takesPart(member);
    this.#told.takesPart(member);
    this.#lockWatch?.takesPart(member);
    this.#orphans.takesPart(member);
    const tasks = mix === undefined ? between(stream, 1, 3) : between(own, ...mix.tasks);
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
    const fleets = this.#chooser.stream(`${name}.fleets`);
    this.#running += 1;
    let isDone = false;
    const done = () => {
      if (!isDone) this.#running -= 1;
      isDone = true;
    };
    member.process.gate.whenGone(done);
    const [first] = this.#scene.shared;
    try {
      if (this.#mix !== undefined && first !== undefined) await this.#mix.work(caller, first);
      const steps = this.#mix === undefined ? between(stream, 1, 4) : 0;
      for (let at = 0; at < steps; at += 1) {
        await caller.pause(pick(stream, [1, 0, 0, 10, 100]));
        const shared = this.#scene.shared[stream.choose(this.#scene.shared.length)];
        if (oneIn(stream, 16)) await clientStep(caller);
        if (oneIn(fleets, 8)) await fleetStep(caller);
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
    this.#backed?.look();
    for (const watch of this.#watches.values()) watch.glance();
    const terms = { longestMs: LONGEST_MS, hasJvm: this.#jvm !== undefined };
    for (const server of this.#topology.servers) {
      for (const text of wrongKeys(server.keys, this.#scene.shared, terms, server.setBackMs)) {
        this.#checker.fail("leftovers", text);
      }
    }
    this.#progress.glance(this.#checker.calls);
    this.#lockWatch?.glance();
    this.#orphans.glance();
    this.#storedHolds?.look(this.#topology.servers[0]);
    this.#redTerms?.look(this.#topology.servers);
  }

  #ran(server: SimServer, call: ScriptCall, by: string, answer: RawReply | Error): void {
    this.#commands += 1;
    // What has waited at a server that stood still comes all at once, when its time is over; one that is read-only does not say so.
    const saysLate = Array.isArray(answer) && [answer[1]].flat()[0] === "late";
    if (!saysLate && !isLate(server, call) && by !== "jvm0") this.#costs.ran(by, server, call.script.name);
    const text = answer instanceof Error ? answer.message : JSON.stringify(answer);
    this.#history.add(server.name, `${by} ${call.script.name} ${call.keys.join(" ")} -> ${text}`);
    if (this.#trace)
      this.#history.add(server.name, `  ${call.args.join(" ")} | ${JSON.stringify(server.keys)}`);
    // A question about the server itself names a key only so that it reaches one.
    if (call.script.name !== "server-probe") {
      const acquired = call.script.name.includes("acquire") ? answer : undefined;
      this.#scene.occupied.look(server, call.keys, by, acquired);
    }
    for (const holder of this.#holders.ran(server, call, by)) {
      this.#checker.fail("exclusion", `${by} frees by force what it has not seen: ${holder}`);
    }
    for (const watch of this.#watches.values()) watch.ran(server, call, by, answer);
    this.#lockWatch?.ran(server, call, by, answer);
    this.#orphans.ran(server, call, by);
    this.#told.ran(server, call, answer);
    this.#deposed?.look();
    this.#checker.look();
    this.#storedHolds?.look(server);
    this.#redTerms?.look(this.#topology.servers);
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
