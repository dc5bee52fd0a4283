import { afterEach, expect } from "vitest";
import type { HoldfastOptions } from "../../../src/client-options.js";
import type { Ticket } from "../../../src/driver/driver.js";
import { Holdfast } from "../../../src/holdfast.js";
import type { Lock } from "../../../src/locks/lock.js";
import { FakeClock, MemoryServer, memoryDriver } from "../../../src/memory/index.js";
import type { RawReply, ScriptCall } from "../../../src/protocol/script-call.js";
import { ScriptedDriver } from "../drivers/scripted-driver.js";
import { ConnectionLostError } from "../faults/call-faults.js";

/** `dead` refuses connections, `silent` takes calls and never answers; a number is how long each way takes. */
export type Health = "dead" | "silent" | number;

/** A server of its own, on the clock that all share. */
export interface FakeMaster {
  readonly server: MemoryServer;
  /** For all clients alike. */
  health: Health;
  /** The hash of a lock; empty when it is free. */
  fields(key: string): Readonly<Record<string, string>>;
}

/** One process: a client for each server. */
export interface Party {
  readonly clients: readonly Holdfast[];
  readonly drivers: readonly ScriptedDriver[];
  /** The locks of one name on all servers. */
  red(name?: string): Lock;
}

export interface FakeMasters {
  readonly clock: FakeClock;
  readonly masters: readonly FakeMaster[];
  party(options?: HoldfastOptions): Party;
  /** On which servers a lock is held. */
  heldOn(key: string): readonly number[];
}

/** By then every lease of a test has ended by itself, and every clean-up. */
const LONG_MS = 180_000;

class DriverToMaster extends ScriptedDriver {
  readonly #master: FakeMaster;
  readonly #clock: FakeClock;

  constructor(master: FakeMaster, clock: FakeClock) {
    super(memoryDriver(master.server));
    this.#master = master;
    this.#clock = clock;
  }

  override async run(call: ScriptCall, ticket: Ticket): Promise<RawReply> {
    await this.#travel();
    const reply = await super.run(call, ticket);
    await this.#travel();
    return reply;
  }

  #travel(): Promise<void> {
    const { health } = this.#master;
    if (health === "dead") return Promise.reject(new ConnectionLostError("connection refused"));
    return new Promise((resolve) => {
      if (health !== "silent") this.#clock.schedule(health, resolve);
    });
  }
}

/** Independent servers on one fake clock. Closes the clients after each test, and fails it when anything is left. */
export function fakeMasters(): (count?: number) => FakeMasters {
  const opened: {
    readonly clock: FakeClock;
    readonly masters: FakeMaster[];
    readonly clients: Holdfast[];
  }[] = [];
  afterEach(async () => {
    for (const { clock, masters, clients } of opened.splice(0)) {
      const closed = Promise.all(clients.map((client) => client.close()));
      await clock.advance(LONG_MS);
      await closed;
      const keys = masters.flatMap(({ server }) => Object.keys(server.dump()));
      expect({ keys, timers: clock.pendingTimers }).toEqual({ keys: [], timers: 0 });
    }
  });
  return (count = 3) => {
    const clock = new FakeClock();
    const masters = Array.from({ length: count }, (): FakeMaster => {
      const server = new MemoryServer({ clock });
      const fields = (key: string) => {
        const stored = server.dump()[key];
        return stored?.type === "hash" ? { ...stored.value } : {};
      };
      return { server, health: 0, fields };
    });
    const clients: Holdfast[] = [];
    opened.push({ clock, masters, clients });
    return {
      clock,
      masters,
      party(options = {}) {
        const drivers = masters.map((master) => new DriverToMaster(master, clock));
        const own = drivers.map((driver) => new Holdfast(driver, { clock, ...options }));
        clients.push(...own);
        const [first] = own;
        if (first === undefined) throw new Error("there is at least one server");
        const red = (name = "a") => first.getRedLock(...own.map((client) => client.getLock(name)));
        return { clients: own, drivers, red };
      },
      heldOn: (key) => masters.flatMap(({ fields }, at) => (Object.keys(fields(key)).length > 0 ? [at] : [])),
    };
  };
}
