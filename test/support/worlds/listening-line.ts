import { MemoryServer, memoryDriver } from "../../../src/memory/index.js";
import type { WaitLine } from "../../../src/runtime/wait-line.js";
import { WaitLines } from "../../../src/runtime/wait-lines.js";
import { Waiter } from "../../../src/runtime/waiter.js";
import { plainSubscriptions } from "../clients/plain-subscriptions.js";
import { ScriptedDriver } from "../drivers/scripted-driver.js";
import { CountingClock } from "./counting-clock.js";

const SAFETY_MS = 5_000;
const CHANNEL = "redisson_lock__channel:{a}";

/** What the line of {@link listeningLine} waits for. */
export const LOCK = { id: ":a", channel: CHANNEL };
/** How long the lock was seen to be held for. */
export const TTL_MS = 4_000;

/** A line whose head listens, and has just asked in vain. */
export async function listeningLine() {
  const clock = new CountingClock();
  const server = new MemoryServer({ clock });
  const driver = new ScriptedDriver(memoryDriver(server));
  const lines = new WaitLines(
    "",
    {
      clock,
      subscriptions: plainSubscriptions(driver, clock, 3_000),
      safetyPeriodMs: SAFETY_MS,
    },
    true,
  );
  const waiter = () => new Waiter(clock, undefined, undefined);
  const head = waiter();
  const line = lines.join(LOCK, head);
  line.listen();
  await clock.advance(0);
  await head.pause();
  const message = async () => {
    server.command("PUBLISH", CHANNEL, "0");
    await clock.advance(0);
  };
  asksInVain(line);
  return { clock, driver, lines, line, head, waiter, message };
}

/** Now it is not worth while to ask, before the TTL is over or there is news. */
export function asksInVain(line: WaitLine): void {
  line.asking();
  line.seenHeld({ holder: "somebody", ttlMs: TTL_MS });
}
