import { Holdfast } from "holdfast";
import { FakeClock, MemoryServer, memoryDriver } from "holdfast/memory";
import { settings, tell } from "./orders.js";

/** A program that does something of which Node, or holdfast, may warn. Tells each warning, and at last "done". */
export interface WarnedUserSettings {
  /** `signal`: one AbortSignal in 30 calls. `own hold`: a call that waits for a lease of its own client. */
  readonly deed: "signal" | "own hold";
}

process.on("warning", (warning) => {
  const { name, message } = warning;
  tell("warning", { name, message, code: "code" in warning ? warning.code : undefined });
});

const clock = new FakeClock();
const holdfast = new Holdfast(memoryDriver(new MemoryServer({ clock })), { clock });
const lock = holdfast.getLock("order:7");

async function oneSignal(): Promise<void> {
  const leaving = new AbortController();
  const { signal } = leaving;
  await lock.lock();
  const semaphore = holdfast.getSemaphore("permits");
  const latch = holdfast.getCountDownLatch("latch");
  await latch.trySetCount(1);
  const waits = Array.from({ length: 10 }, () => [
    lock.lock({ signal }),
    semaphore.acquire({ signal }),
    latch.await({ signal }),
  ]).flat();
  const ends = Promise.allSettled(waits);
  await clock.advance(100);
  leaving.abort(new Error("enough"));
  const reasons = (await ends).map((end) => (end.status === "rejected" ? end.reason.message : end.value));
  tell("cancelled", { calls: reasons.filter((reason) => reason === "enough").length });
}

async function ownHold(): Promise<void> {
  await lock.lock();
  for (const wait of [lock.lock(), lock.lock()]) wait.catch(() => undefined);
  await clock.advance(60_000);
}

tell("ready");
await { signal: oneSignal, "own hold": ownHold }[settings<WarnedUserSettings>().deed]();
const closed = holdfast.close();
await clock.advance(60_000);
await closed;
// Warnings are told in a later turn.
setImmediate(() => tell("done"));
