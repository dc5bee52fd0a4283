import type { ScriptedDriver } from "../drivers/scripted-driver.js";
import type { FakeTime } from "./fake-time.js";

/** Where the waiters of the semaphore "s" listen. */
export const PERMITS_CHANNEL = "redisson_sc:{s}";
/** For whom permits of "s" are saved up. */
export const SAVER_KEY = "holdfast_sc_saved:{s}";
/** The script with which permits are asked for. */
const ACQUIRE = "semaphore-acquire";

/** How often the client has asked for permits. */
export function asked({ names }: ScriptedDriver): number {
  return names.filter((name) => name === ACQUIRE).length;
}

/** So many permits are available, and nobody is told. */
export function setAvailable({ server }: FakeTime, permits: number): void {
  server.command("SET", "s", permits);
}

/** How many permits are available; null without a semaphore. */
export function available({ server }: FakeTime): unknown {
  return server.command("GET", "s");
}

/** A JVM gives permits back, and its message arrives. */
export async function givenByJvm({ server, clock }: FakeTime, permits: number): Promise<void> {
  const value = server.command("INCRBY", "s", permits);
  server.command("PUBLISH", PERMITS_CHANNEL, String(value));
  await clock.advance(0);
}

/** How many clients listen to the semaphore's channel. The message means nothing to them. */
export function permitListeners({ server }: FakeTime): unknown {
  return server.command("PUBLISH", PERMITS_CHANNEL, "0");
}
