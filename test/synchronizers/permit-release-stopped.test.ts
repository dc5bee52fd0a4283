import { expect, test } from "vitest";
import { NotHeldError } from "../../src/errors.js";
import { Holdfast } from "../../src/holdfast.js";
import { FakeClock, MemoryServer, memoryDriver } from "../../src/memory/index.js";
import { watchLeaks } from "../support/run/leaks.js";

watchLeaks();

const LEASE_MS = 1_000;
/** The release of permits reads the clock less often. */
const READS = 8;

/** The clock of a process that is stopped once, as it reads the time. */
class StoppingClock extends FakeClock {
  #left = Number.POSITIVE_INFINITY;
  #forMs = 0;

  stopAtRead(nth: number, forMs: number): void {
    this.#left = nth;
    this.#forMs = forMs;
  }

  override monotonicMs(): number {
    this.#left -= 1;
    if (this.#left === 0) this.block(this.#forMs);
    return super.monotonicMs();
  }
}

test("permits of which some are lost amid their release leave nothing taken, whichever statement the process is stopped at [own-33]", async () => {
  for (let nth = 1; nth <= READS; nth += 1) {
    const clock = new StoppingClock();
    const holdfast = new Holdfast(memoryDriver(new MemoryServer({ clock })), { clock });
    const semaphore = holdfast.getPermitExpirableSemaphore("s");
    await semaphore.trySetPermits(2);
    const permits = await semaphore.acquire(2);
    await semaphore.updateLeaseTime(permits.ids[1] ?? "", LEASE_MS);
    clock.stopAtRead(nth, LEASE_MS + 100);
    await permits.release().catch((error: unknown) => expect(error).toBeInstanceOf(NotHeldError));
    await clock.advance(2 * LEASE_MS);
    expect([nth, await semaphore.availablePermits()]).toEqual([nth, 2]);
    await holdfast.close();
  }
});
