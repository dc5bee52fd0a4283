import type { FakeTime } from "./fake-time.js";

/** A holder in a JVM, as Redisson names it. */
export const FOREIGN = "3f0c5f9e-6f1d-4a53-9b0e-0c1d2e3f4a5b:57";
/** Where the waiters of the lock "a" listen. */
export const CHANNEL = "redisson_lock__channel:{a}";

/** The lock "a" is taken by nobody of ours, so nobody of ours tells when it is free. */
export function heldByJvm({ server }: FakeTime, leaseMs: number): void {
  server.command("HSET", "a", FOREIGN, 1);
  server.command("PEXPIRE", "a", leaseMs);
}

/** The JVM releases, and its message arrives. */
export async function releasedByJvm({ server, clock }: FakeTime): Promise<void> {
  server.command("DEL", "a");
  server.command("PUBLISH", CHANNEL, "0");
  await clock.advance(0);
}
