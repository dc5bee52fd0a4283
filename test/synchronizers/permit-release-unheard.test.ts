import { describe, expect, test } from "vitest";
import { UnavailableError } from "../../src/errors.js";
import { neverDeliver } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { type Permits, type PermitTime, permitTime } from "../support/worlds/permit-time.js";

watchLeaks();
const open = permitTime();

const LEASE_MS = 1_000;
/** One command timeout, after which the call fails, and the pause before its release is tried anew. */
const TRIED_ON_MS = 4_000;

interface Taken extends PermitTime {
  readonly permanent: Permits;
  readonly leased: Permits;
}

/** Of two permits one is permanent, and the lease of the other ends soon. */
async function taken(): Promise<Taken> {
  const time = open();
  await time.semaphore.trySetPermits(2);
  const permanent = await time.semaphore.acquire();
  const leased = await time.semaphore.acquire({ leaseMs: LEASE_MS });
  return { ...time, permanent, leased };
}

describe("a release by ids that Redis did not answer, and of which the lease of one has ended meanwhile", () => {
  test("gives back the others that leases of this client have given up for it [own-112]", async () => {
    const { semaphore, driver, clock, stored, permanent, leased } = await taken();
    void driver.next(neverDeliver);
    const releasing = watched(semaphore.tryRelease([...permanent.ids, ...leased.ids]));
    await clock.advance(TRIED_ON_MS);
    expect(releasing.outcome).toMatchObject({ error: expect.any(UnavailableError) });
    expect(permanent.state).toBe("released");
    await permanent.release();
    expect(stored()).toEqual({ available: 2, acquired: 0 });
  });

  test("gives back the one permit that a lease has given up, and leaves it the others [own-112]", async () => {
    const { semaphore, driver, clock, stored, permanent, leased } = await taken();
    await semaphore.addPermits(1);
    await permanent.release();
    const both = await semaphore.acquire(2);
    const [first = "", second = ""] = both.ids;
    void driver.next(neverDeliver);
    const releasing = watched(semaphore.release([first, ...leased.ids]));
    await clock.advance(TRIED_ON_MS);
    expect(releasing.outcome).toMatchObject({ error: expect.any(UnavailableError) });
    expect(both).toMatchObject({ state: "held", ids: [second] });
    expect(stored()).toEqual({ available: 2, acquired: 1 });
    await both.release();
  });

  test("gives back none that only another client has: all of them, or none", async () => {
    const { connect, clock, stored, permanent, leased } = await taken();
    const other = connect();
    const semaphore = other.holdfast.getPermitExpirableSemaphore("a");
    void other.driver.next(neverDeliver);
    const releasing = watched(semaphore.tryRelease([...permanent.ids, ...leased.ids]));
    await clock.advance(TRIED_ON_MS);
    expect(releasing.outcome).toMatchObject({ error: expect.any(UnavailableError) });
    expect(stored()).toEqual({ available: 1, acquired: 1 });
    expect(permanent.state).toBe("held");
    await permanent.release();
  });
});
