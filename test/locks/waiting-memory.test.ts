import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/clock.js";
import type { ChannelListener, Driver } from "../../src/driver/driver.js";
import { Holdfast } from "../../src/holdfast.js";
import { watchLeaks } from "../support/run/leaks.js";

watchLeaks();

/** A lock that is held for ever, and a message after each refused attempt. */
class NeverFree implements Driver {
  readonly traits = { server: "never free", topology: "memory" } as const;
  readonly resets = 0;
  attempts = 0;
  readonly #listeners = new Map<string, ChannelListener>();

  async run({ script, args }: Parameters<Driver["run"]>[0]): ReturnType<Driver["run"]> {
    const nowMs = Math.floor(systemClock.wallMs());
    if (script.name === "server-probe") return [nowMs, "7.2.0"];
    this.attempts += 1;
    const place = args.includes("queued") ? [1, 0, 0] : [];
    return [nowMs, ["busy", 30_000, "3f0c5f9e-6f1d-4a53-9b0e-0c1d2e3f4a5b:57", ...place]];
  }

  async subscribe(channel: string, listener: ChannelListener): ReturnType<Driver["subscribe"]> {
    this.#listeners.set(channel, listener);
    listener.onReady();
    return async () => undefined;
  }

  wake(): void {
    for (const listener of this.#listeners.values()) listener.onMessage("0");
  }

  async close(): Promise<void> {
    this.#listeners.clear();
  }
}

function heapBytes(): number {
  for (let i = 0; i < 3; i++) globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

describe("the memory of waiting", () => {
  test("does not grow with the number of attempts that failed [B20]", { timeout: 60_000 }, async () => {
    expect(globalThis.gc).toBeTypeOf("function");
    const driver = new NeverFree();
    const client = new Holdfast(driver);
    const waiting = Array.from({ length: 100 }, () => client.getLock("a").lock().catch(String));
    const attempt = async (until: number) => {
      while (driver.attempts < until) {
        driver.wake();
        await new Promise(setImmediate);
      }
    };
    await attempt(10_000);
    const before = heapBytes();
    await attempt(60_000);
    const grownBytes = heapBytes() - before;
    await client.close();
    await Promise.all(waiting);
    // A record of only sixteen bytes for each attempt would make 800,000.
    expect(grownBytes).toBeLessThan(400_000);
  });
});
