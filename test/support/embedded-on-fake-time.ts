import { afterEach, beforeEach, expect } from "vitest";
import type { Driver } from "../../src/driver/driver.js";
import { FakeClock } from "../../src/driver/memory/index.js";
import type { Holdfast } from "../../src/holdfast.js";
import type { HoldfastOptions } from "../../src/options.js";
import { type OpenBackend, openEmbedded } from "./backends.js";
import { ScriptedDriver } from "./scripted-driver.js";

/** An embedded server on a clock that stands still until the test moves it. */
export interface FakeTime {
  readonly clock: FakeClock;
  readonly server: OpenBackend;
  client(options?: HoldfastOptions, wrap?: (driver: Driver) => Driver): Holdfast;
  /** A client together with the driver by which a test watches and disturbs it. */
  scripted(options?: HoldfastOptions): { readonly client: Holdfast; readonly driver: ScriptedDriver };
}

/** Three command timeouts, and a little more. */
const CLOSED_WITHIN_MS = 10_000;

/** Each test gets a server of its own, and fails when it leaves a key, or its clients a timer or a listener. */
export function embeddedOnFakeTime(): FakeTime {
  let clock = new FakeClock();
  let server = openEmbedded(clock);
  beforeEach(() => {
    clock = new FakeClock();
    server = openEmbedded(clock);
  });
  afterEach(async () => {
    await clock.advance(0);
    const keys = await server.keys();
    const closed = server.close();
    await clock.advance(CLOSED_WITHIN_MS);
    await closed;
    expect({ keys, timers: clock.pendingTimers }).toEqual({ keys: [], timers: 0 });
  });
  return {
    get clock() {
      return clock;
    },
    get server() {
      return server;
    },
    client: (options, wrap) => server.client(options, wrap),
    scripted(options) {
      let driver: ScriptedDriver | undefined;
      const client = server.client(options, (inner) => {
        driver = new ScriptedDriver(inner);
        return driver;
      });
      if (driver === undefined) throw new Error("a client has a driver");
      return { client, driver };
    },
  };
}

/** A promise that a test looks at without waiting for it. Never rejects. */
export interface Watched<T> {
  outcome: { readonly value: T } | { readonly error: unknown } | undefined;
}

export function watched<T>(promise: Promise<T>): Watched<T> {
  const seen: Watched<T> = { outcome: undefined };
  promise.then(
    (value) => {
      seen.outcome = { value };
    },
    (error: unknown) => {
      seen.outcome = { error };
    },
  );
  return seen;
}
