import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { replaceEnvironment } from "../../src/environment.js";
import type { Holdfast } from "../../src/holdfast.js";
import type { Lease } from "../../src/lease.js";
import { Checker } from "./checker/checker.js";
import { History } from "./checker/history.js";
import { recordedChooser } from "./chooser/recorded.js";
import { planClient } from "./workload/plan.js";
import { type Node, startNode } from "./world/fleet.js";
import { OwnEnvironment } from "./world/own-environment.js";
import { disableScopes } from "./world/scopes.js";
import { makeTopology } from "./world/topology.js";
import { endTurns, turn } from "./world/turns.js";
import { VirtualTime } from "./world/virtual-time.js";

const MS = 1_000;
const NAME = "n0";
const THREAD = 7;
/** By then a command has been sent, and has not arrived. */
const SENT_MS = 0.05;
/** The copy of a release comes so long after it. */
const LATE_MS = 6_000;

/** Two processes and a server whose clock can be set back, which no schedule does: that is documented as not survived. */
class World {
  readonly time = new VirtualTime(turn);
  readonly checker = new Checker(this.time, new History(this.time));
  readonly topology = makeTopology("standalone", {
    time: this.time,
    epochMs: () => 1_795_132_800_000,
    watch: { ran: () => this.checker.look() },
    stream: recordedChooser({}).stream("topology"),
  });

  start(name: string): Node {
    const chooser = recordedChooser({});
    const plan = planClient(chooser.stream("plan"));
    const watch = { reached: () => undefined };
    return startNode(this.topology, {
      name,
      time: this.time,
      chooser,
      plan,
      watch,
      history: new History(this.time),
    });
  }

  pass(ms: number): Promise<void> {
    return this.time.pass(this.time.nowUs + ms * MS);
  }

  async lock({ process, clients: [holdfast] }: Node, waitMs: number): Promise<Lease | undefined> {
    const startUs = this.time.nowUs;
    let lease: Lease | undefined;
    void locked(holdfast, waitMs).then((had) => {
      if (had === null) return;
      lease = had;
      const parts = [{ name: NAME, owners: [had.holder], mode: "exclusive" as const }];
      this.checker.entered({ process, lease: had, parts, kind: "lock", startUs, label: process.name });
    });
    await this.pass(waitMs + 500);
    return lease;
  }
}

function locked(holdfast: Holdfast, waitMs: number): Promise<Lease | null> {
  return holdfast.getLock(NAME).tryLock({ threadId: THREAD, waitMs, leaseMs: 30_000 });
}

describe("a server's clock that is set back", () => {
  let restore: () => void;
  beforeEach(() => {
    restore = replaceEnvironment(new OwnEnvironment(() => 0));
  });
  afterEach(async () => {
    restore();
    disableScopes();
    await endTurns();
  });

  async function play(backMs: number): Promise<readonly string[]> {
    const world = new World();
    const { time, checker, topology } = world;
    const [holder, other] = [world.start("p0"), world.start("p1")];
    const first = await world.lock(holder, 0);
    if (first === undefined) throw new Error("the first call has the lock");
    checker.left(first);
    void first.unlock();
    await world.pass(SENT_MS);
    // A copy of the release is on its way for long, and the next one has its effect.
    const [line] = holder.lines;
    line?.commands.cut({ there: 0, back: 0, lateUs: LATE_MS * MS, noticeUs: 0, reconnectUs: 1 * MS });
    await world.pass(2_000);
    expect(await world.lock(holder, 0)).toBeDefined();
    topology.servers[0].stepClock(-backMs);
    await world.pass(LATE_MS);
    await world.lock(other, 1_000);
    expect(time.nowUs / MS).toBeGreaterThan(LATE_MS);
    return checker.violations.map(({ text }) => text);
  }

  it("brings a command to life that was given up, and so two holders: servers are not to step back", async () => {
    expect(await play(10_000)).toEqual([`"${NAME}": p0 and p1 are both believed`]);
  });

  it("is what does it: with a clock that goes on nobody gets in", async () => {
    expect(await play(0)).toEqual([]);
  });
});
