import { afterEach, expect } from "vitest";
import type { HoldfastOptions } from "../../../src/client-options.js";
import { Holdfast } from "../../../src/holdfast.js";
import { FakeClock, MemoryServer, memoryDriver } from "../../../src/memory/index.js";
import { ScriptedDriver } from "../drivers/scripted-driver.js";
import { forgetNothing } from "../run/garbage.js";

/** Also writes down when each call was sent, in milliseconds since the test began. */
class TimedDriver extends ScriptedDriver {
  readonly sent: { readonly script: string; readonly atMs: number }[];

  constructor(server: MemoryServer, clock: FakeClock) {
    const startMs = clock.monotonicMs();
    const sent: { readonly script: string; readonly atMs: number }[] = [];
    super(memoryDriver(server), {
      sent: ({ script }) => void sent.push({ script: script.name, atMs: clock.monotonicMs() - startMs }),
    });
    this.sent = sent;
  }

  /** When the calls of a script were sent. */
  timesOf(script: string): number[] {
    return this.sent.filter((call) => call.script === script).map(({ atMs }) => atMs);
  }
}

/** A client on the fake clock and its way to the server. */
export interface FakeTimeClient {
  readonly holdfast: Holdfast;
  readonly driver: TimedDriver;
}

/** An embedded server and its clients, for which time passes only when a test says so. */
export interface FakeTime extends FakeTimeClient {
  readonly clock: FakeClock;
  readonly server: MemoryServer;
  /** One more client of the server. */
  connect(options?: HoldfastOptions): FakeTimeClient;
  /** The hash of a lock; empty when it is free. */
  fields(key: string): Record<string, string>;
  ttlMs(key: string): number;
}

/** By then every lease of a test has ended by itself, and every clean-up. */
const LONG_MS = 120_000;

/**
 * Makes a server and a client for each test that asks. Closes the clients after the test, and fails it when they
 * leave a timer behind, or a key that does not fall by itself.
 * @param forgets whether a lease that the test keeps nowhere is given up once it is collected, which happens at any time. Default: false
 */
export function fakeTime({ forgets = false } = {}): (options?: HoldfastOptions) => FakeTime {
  const opened: { readonly clock: FakeClock; readonly server: MemoryServer; readonly clients: Holdfast[] }[] =
    [];
  if (!forgets) forgetNothing();
  afterEach(async () => {
    for (const { clock, server, clients } of opened.splice(0)) {
      const closed = Promise.all(clients.map((client) => client.close()));
      await clock.advance(LONG_MS);
      await closed;
      expect({ keys: Object.keys(server.dump()), timers: clock.pendingTimers }).toEqual({
        keys: [],
        timers: 0,
      });
    }
  });
  return (options = {}) => {
    const clock = new FakeClock();
    const server = new MemoryServer({ clock });
    const clients: Holdfast[] = [];
    opened.push({ clock, server, clients });
    const connect = (more: HoldfastOptions = {}): FakeTimeClient => {
      const driver = new TimedDriver(server, clock);
      const holdfast = new Holdfast(driver, { clock, ...more });
      clients.push(holdfast);
      return { holdfast, driver };
    };
    return {
      ...connect(options),
      clock,
      server,
      connect,
      fields: (key) => hashOf(server, key),
      ttlMs: (key) => Number(server.command("PTTL", key)),
    };
  };
}

function hashOf(server: MemoryServer, key: string): Record<string, string> {
  const stored = server.dump()[key];
  return stored?.type === "hash" ? { ...stored.value } : {};
}
