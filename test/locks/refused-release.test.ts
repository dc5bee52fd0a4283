import { describe, expect, test } from "vitest";
import { ServerReplyError } from "../../src/driver/driver.js";
import { fairQueueKey } from "../../src/protocol/names.js";
import { answerLate, answerWith } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";
import { arrived, got } from "../support/worlds/hand-off-scene.js";

watchLeaks();
const open = fakeTime();

const KEY = "order:7";
const COMMAND_MS = 200;
const WAY_MS = 10;
/** Behind the scenes it is tried again at once, and half a second and one after that. */
const SOON_MS = 2_000;
/** Enough to be handed over. */
const LEASE_MS = 2_000;
/** After this it is tried again behind the scenes, as an answer came at once. */
const AGAIN_MS = 1_000;
const HOUR_MS = 3_600_000;

const refused = new ServerReplyError("READONLY You can't write against a read only replica.");
const full = new ServerReplyError("OOM command not allowed when used memory > 'maxmemory'.");

/** From now on every release meets an error. @returns what ends that: then each takes some time to arrive */
function refuseReleases({ clock, driver }: FakeTime, error: Error): () => void {
  let refuses = true;
  const isRelease = ({ script }: { readonly script: { readonly name: string } }) =>
    script.name.endsWith("-release");
  const next = () => {
    void driver.next(
      {
        name: "refused",
        meet: (deliver, way) => {
          next();
          if (refuses) return answerWith(error).meet(deliver, way);
          return new Promise<void>((resolve) => void clock.schedule(WAY_MS, resolve)).then(deliver);
        },
      },
      isRelease,
    );
  };
  next();
  return () => {
    refuses = false;
  };
}

function queue({ server }: FakeTime): unknown {
  return server.command("LRANGE", fairQueueKey(KEY), 0, -1);
}

describe.each([
  { why: "is a replica for a while", error: refused },
  { why: "is full", error: full },
])("a release that is refused by a server that $why", ({ error }) => {
  test("is told as open, and tried on, so that others need not wait for the TTL [own-29]", async () => {
    const time = open({ commandTimeoutMs: COMMAND_MS });
    const lease = await time.holdfast.getLock(KEY).lock({ leaseMs: HOUR_MS });
    const end = refuseReleases(time, error);
    const released = watched(lease.unlock());
    await time.clock.advance(2 * COMMAND_MS);
    expect(released.outcome).toMatchObject({
      error: { code: "ERR_HOLDFAST_UNAVAILABLE", outcomeUnknown: true },
    });
    expect(time.fields(KEY)).toEqual({ [lease.holder]: "1" });
    end();
    await time.clock.advance(SOON_MS);
    expect(time.fields(KEY)).toEqual({});
  });

  test("and is tried on while the outer hold of a reader is released leaves that its key until then [own-31]", async () => {
    const time = open({ commandTimeoutMs: COMMAND_MS });
    const lock = time.holdfast.getReadWriteLock(KEY).readLock();
    const outer = await lock.lock();
    const inner = await outer.run(() => lock.lock());
    const end = refuseReleases(time, error);
    const released = watched(inner.unlock());
    // It is over, and the first try behind the scenes is under way.
    await time.clock.advance(1.2 * COMMAND_MS);
    expect(released.outcome).toHaveProperty("error");
    const outerReleased = watched(outer.unlock());
    end();
    await time.clock.advance(SOON_MS);
    expect(outerReleased.outcome).toEqual({ value: undefined });
    expect(time.fields(KEY)).toEqual({});
  });

  test("and leaves no place in the queue of a fair lock that was wanted for less time than that [own-35]", async () => {
    const time = open({ commandTimeoutMs: COMMAND_MS });
    const lock = time.holdfast.getFairLock(KEY);
    const lease = await lock.lock();
    const waiting = watched(lock.lock({ leaseMs: COMMAND_MS, waitMs: COMMAND_MS }));
    await time.clock.advance(COMMAND_MS / 2);
    const end = refuseReleases(time, error);
    // All of its lease, and the command timeouts that clean-up has on top.
    await time.clock.advance(4 * COMMAND_MS);
    expect(waiting.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_WAIT_TIMEOUT" } });
    expect(queue(time)).toHaveLength(1);
    end();
    await time.clock.advance(SOON_MS);
    expect(queue(time)).toEqual([]);
    await Promise.all([lease.unlock(), time.clock.advance(WAY_MS)]);
  });
});

test("an acquisition that came too late, and can not be given back yet, does not take over what another call leaves [own-55]", async () => {
  const time = open({ commandTimeoutMs: 2 * LEASE_MS });
  const lock = time.holdfast.getLock(KEY);
  // A call that has slept behind one of its client is one that takes over; such a short lease is not handed over.
  const before = await lock.lock({ leaseMs: COMMAND_MS });
  const waiting = watched(lock.lock({ leaseMs: LEASE_MS }));
  await time.clock.advance(1);
  const slow = answerLate();
  void time.driver.next(slow, "lock-acquire");
  await before.unlock();
  void time.driver.next(answerWith(full), "lock-release");
  await time.clock.advance(LEASE_MS + 1);
  slow.arrive();
  const other = await arrived(time, watched(lock.tryLock({ leaseMs: LEASE_MS })));
  await arrived(time, watched(other?.unlock() ?? Promise.reject(new Error("it was not free"))));
  await time.clock.advance(AGAIN_MS + 1);
  await arrived(time, watched(got(waiting).unlock()));
  expect(time.fields(KEY)).toEqual({});
});
