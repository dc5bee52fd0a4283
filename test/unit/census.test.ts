import { expect, test } from "vitest";
import { clientOf } from "../../src/holdfast.js";
import { fakeTime } from "../support/fake-time.js";

const open = fakeTime();

test("a client that holds and waits has entries, and none at rest", async () => {
  const { holdfast, clock } = open();
  const client = clientOf(holdfast);
  const lock = holdfast.getLock("a");
  const lease = await lock.lock();
  const waits = lock.lock();
  await clock.advance(1_000);
  const busy = client.census();
  expect(busy).toMatchObject({ stays: 2, watched: 1, waiters: 1, "in lines": 1 });
  await lease.unlock();
  await (await waits).unlock();
  await clock.advance(60_000);
  expect(Object.entries(client.census()).filter(([, count]) => count > 0)).toEqual([]);
});
