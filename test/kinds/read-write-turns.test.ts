import { expect, test } from "vitest";
import { answerLate, neverDeliver, swallowReply } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();

const KEY = "order:7";
const COMMAND_MS = 200;
const LEASE_MS = 1_000;
const ID = { threadId: 2 };
/** So many calls nobody sends in this test. */
const MANY = 100;

test("reads under the id of a write that could not be cleaned up get in when its lease is over [own-43]", async () => {
  const { holdfast, driver, clock, fields } = open({ commandTimeoutMs: COMMAND_MS });
  const pair = holdfast.getReadWriteLock(KEY);
  void driver.next(swallowReply, "write-acquire");
  for (let call = 0; call < MANY; call += 1) void driver.next(neverDeliver, "write-release");
  const writing = watched(pair.writeLock().lock({ ...ID, leaseMs: LEASE_MS }));
  await clock.advance(COMMAND_MS);
  expect(writing.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_UNAVAILABLE" } });
  const reading = [1, 2, 3].map(() => pair.readLock().lock(ID));
  const first = watched(Promise.race(reading));
  await clock.advance(LEASE_MS / 2);
  expect(first.outcome).toBeUndefined();
  await clock.advance(LEASE_MS + 4 * COMMAND_MS);
  const leases = await Promise.all(reading);
  expect(leases.map(({ holdCount }) => holdCount)).toEqual([1, 2, 3]);
  for (const lease of leases) await lease.unlock();
  expect(fields(KEY)).toEqual({});
});

test("who writes again under an id while its first write is on its way back leaves its reads alone [own-50]", async () => {
  const { holdfast, driver, clock, fields } = open({ commandTimeoutMs: COMMAND_MS });
  const pair = holdfast.getReadWriteLock(KEY);
  const writer = await pair.writeLock().lock(ID);
  const again = answerLate();
  void driver.next(again, "write-acquire");
  const reading = pair.readLock().lock(ID);
  const writing = pair.writeLock().lock(ID);
  await clock.advance(1);
  const reader = await reading;
  const leaving = writer.unlock();
  again.arrive();
  await leaving;
  expect(reader.state).toBe("held");
  await (await writing).unlock();
  await reader.unlock();
  expect(fields(KEY)).toEqual({});
});
