import { Holdfast } from "../../../src/holdfast.js";
import { FakeClock, MemoryServer, memoryDriver } from "../../../src/memory/index.js";
import { JvmClient, type JvmOptions } from "../../simulation/jvm/jvm-client.js";
import { ObservedDriver } from "../drivers/observed-driver.js";
import { ScriptedDriver } from "../drivers/scripted-driver.js";
import { NodeUser } from "./lock-user.js";
import { SimulatedUser } from "./simulated-jvm.js";
import { evenly } from "./simulated-stage.js";

const HOUR_MS = 3_600_000;

/** Simulated JVMs and clients of holdfast on one embedded server, for which time passes when a test says so. */
export class SimulatedFleet {
  readonly clock: FakeClock = new FakeClock();
  readonly server: MemoryServer = new MemoryServer({ clock: this.clock });
  readonly clients: JvmClient[] = [];
  readonly #nodes: Holdfast[] = [];
  readonly #random = evenly();

  /** A client with a driver whose calls a test can look at and hold up. */
  client(options: Partial<JvmOptions> = {}): { readonly client: JvmClient; readonly driver: ScriptedDriver } {
    const driver = new ScriptedDriver(memoryDriver(this.server));
    const id = `00000000-0000-4000-8000-00000000000${this.clients.length}`;
    const client = new JvmClient({ driver, clock: this.clock, id, random: this.#random, ...options });
    this.clients.push(client);
    return { client, driver };
  }

  /** A thread of a JVM of its own. */
  jvm(options?: Partial<JvmOptions>): SimulatedUser {
    return new SimulatedUser(this.client(options).client, 50);
  }

  /** A client of holdfast that learns of releases by messages and TTLs only. */
  node(): NodeUser {
    const driver = new ObservedDriver(memoryDriver(this.server));
    const holdfast = new Holdfast(driver, { clock: this.clock, safetyPeriodMs: HOUR_MS });
    this.#nodes.push(holdfast);
    return NodeUser.of(holdfast, driver);
  }

  /** What the JVMs keep: nothing, once no thread holds a lock or waits. */
  census(): object {
    const total = { watched: 0, waiting: 0, channels: 0 };
    for (const { watched, waiting, channels } of this.clients.map((client) => client.census())) {
      total.watched += watched;
      total.waiting += waiting;
      total.channels += channels;
    }
    return total;
  }

  /** @returns how many timers are left */
  async close(): Promise<number> {
    for (const client of this.clients) client.shutDown();
    const closed = Promise.all(this.#nodes.map((holdfast) => holdfast.close({ releaseHeld: true })));
    await this.clock.advance(HOUR_MS);
    await closed;
    return this.clock.pendingTimers;
  }
}
