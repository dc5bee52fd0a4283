import type { Chooser } from "../chooser/chooser.js";
import { between, oneIn, pick } from "../draw.js";
import { JvmClient } from "../jvm/jvm-client.js";
import type { Shared } from "../workload/family.js";
import { type JvmThread, jvmStep } from "../workload/jvm-steps.js";
import type { Scene } from "../workload/member.js";
import { planClient } from "../workload/plan.js";
import { CommandLink } from "./command-link.js";
import { MessageLink } from "./message-link.js";
import { SimDriver } from "./sim-driver.js";
import { SimProcess } from "./sim-process.js";
import type { SimServer } from "./sim-server.js";
import type { VirtualTime } from "./virtual-time.js";

const NAME = "jvm0";
const MS = 1_000;
/** Without a mix that says otherwise. */
const HOLDS_MS = [5, 0, 50, 300] as const;

interface JvmParts {
  readonly time: VirtualTime;
  readonly chooser: Chooser;
  readonly server: SimServer;
  readonly watchdogMs: number;
  readonly random: () => number;
}

/** A JVM of the fleet, with Redisson's own scripts. It may be stopped for a while, as any process. */
export class JvmProcess {
  readonly #parts: JvmParts;
  readonly #process: SimProcess;
  readonly #commands: CommandLink;
  readonly #messages: MessageLink;
  readonly #jvm: JvmClient;

  constructor(parts: JvmParts) {
    const { time, chooser, server, watchdogMs, random } = parts;
    const { distance } = planClient(chooser.stream(`${NAME}.plan`), watchdogMs);
    // Redisson writes times of its own clock into the queues of fair locks: one that is ahead would make its dead waiters outlive the run.
    const clock = { epochMs: server.timeMs, rate: 1 };
    const process = new SimProcess(NAME, time, clock, chooser.stream(`${NAME}.timers`));
    const delays = chooser.stream(`${NAME}.delays`);
    const common = { name: NAME, time, process, server: () => server, distance, delays };
    const rules = { resends: true, queues: true };
    this.#parts = parts;
    this.#process = process;
    this.#commands = new CommandLink({ ...common, rules, watch: { reached() {} } });
    this.#messages = new MessageLink(common);
    this.#jvm = new JvmClient({
      driver: new SimDriver(server.name, this.#commands, this.#messages),
      clock: process.clock,
      id: "0a0a0a0a-0000-4000-8000-00000000000a",
      random,
      watchdogMs,
      fairWaitMs: 5_000,
    });
  }

  /** What one thread does, from beginning to end. @param holdsMs for how long it has a lock */
  async work(
    threadId: number,
    scene: Scene,
    shared: readonly Shared[],
    holdsMs: JvmThread["holdsMs"] = HOLDS_MS,
  ): Promise<void> {
    const { chooser, server, time } = this.#parts;
    const stream = chooser.stream(`${NAME}.${threadId}`);
    const thread = { jvm: this.#jvm, process: this.#process, server, scene, stream, threadId, holdsMs };
    for (let steps = between(stream, 1, 4); steps > 0; steps -= 1) {
      await new Promise<void>((resolve) =>
        this.#process.clock.schedule(pick(stream, [1, 0, 20, 100]), resolve),
      );
      const one = shared[stream.choose(shared.length)];
      if (one !== undefined) await jvmStep(thread, one);
      if (!oneIn(stream, 8)) continue;
      this.#process.stop();
      const us = pick(stream, [50, 500, 4_000]) * MS;
      scene.trouble.begin("jvm stopped", NAME, us, true);
      time.after(us, () => this.#process.continue());
    }
  }

  /** It dies, and what it has falls by its TTL. */
  dieAfter(ms: number, { trouble, history }: Scene): void {
    this.#parts.time.after(ms * MS, () => {
      if (this.#process.isDead) return;
      trouble.begin("jvm killed", NAME, 0, true);
      history.add(NAME, "is killed");
      this.kill();
    });
  }

  kill(): void {
    this.#process.kill();
    this.#commands.end();
    this.#messages.end(0);
  }
}
