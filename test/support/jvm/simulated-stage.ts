import { FakeClock, MemoryServer, memoryDriver } from "../../../src/memory/index.js";
import type { ScriptSource } from "../../../src/protocol/script-call.js";
import type { Actor } from "../../interop/scenarios.js";
import { SHORT_MS } from "../../interop/synchronizer-steps.js";
import { JvmClient } from "../../simulation/jvm/jvm-client.js";
import type { RecordedCalls } from "../../simulation/jvm/recorded-call.js";
import type { RecordingPart, RecordingStage } from "./play-records.js";
import { FreezingDriver, SimulatedSynchronizers, SimulatedUser } from "./simulated-jvm.js";

const IDS: readonly (readonly [Actor, string])[] = [
  ["A", "3f0c5f9e-6f1d-4a53-9b0e-0c1d2e3f4a5b"],
  ["B", "8a1c2b7e-0f3d-4c61-8e5a-7b9d0c1e2f3a"],
  ["C", "c4d5e6f7-1a2b-4c3d-9e8f-0a1b2c3d4e5f"],
];

/** The embedded server, and a simulated JVM for each actor. */
export class SimulatedStage implements RecordingStage {
  readonly clock: FakeClock = new FakeClock();
  readonly server: MemoryServer = new MemoryServer({ clock: this.clock });
  readonly clients: readonly JvmClient[];
  readonly parts: ReadonlyMap<Actor, RecordingPart>;
  readonly #messages: string[] = [];

  constructor(scripts: RecordedCalls, channels: (holder: string) => readonly string[]) {
    const random = evenly();
    const made = IDS.map(([actor, id], at) => {
      const driver = new FreezingDriver(memoryDriver(this.server));
      const client = new JvmClient({ driver, clock: this.clock, id, random, scripts });
      const user = new SimulatedUser(client, at + 50);
      const thaw = () => {
        driver.thaw();
        // What waits in vain has waited by then.
        return this.clock.advance(SHORT_MS);
      };
      const redisson = { freeze: () => driver.freeze(), thaw };
      return { actor, client, part: { user, synchronizers: new SimulatedSynchronizers(user), redisson } };
    });
    this.clients = made.map(({ client }) => client);
    this.parts = new Map(made.map(({ actor, part }) => [actor, part]));
    const all = new Set(made.flatMap(({ part }) => channels(part.user.holder)));
    for (const channel of all) {
      this.server.subscribe(channel, (message) => this.#messages.push(`${message} -> ${channel}`));
    }
  }

  async raw(command: string, ...args: readonly (string | number)[]): Promise<unknown> {
    return this.server.command(command, ...args);
  }

  async evaluate(script: ScriptSource, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.server.evaluate(script, keys, args);
  }

  async keys(): Promise<readonly string[]> {
    return Object.keys(this.server.dump());
  }

  async messages(): Promise<readonly string[]> {
    await this.clock.advance(0);
    return this.#messages.splice(0);
  }

  async clear(): Promise<void> {
    this.server.flush();
    await this.messages();
  }
}

/** Numbers between 0 and 1, spread evenly, and the same at each run. */
export function evenly(): () => number {
  let last = 0;
  return () => {
    last = (last + (Math.sqrt(5) - 1) / 2) % 1;
    return last;
  };
}
