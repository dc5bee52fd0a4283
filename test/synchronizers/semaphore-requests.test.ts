import { expect, test } from "vitest";
import { ServerReplyError } from "../../src/driver/driver.js";
import { answerWith, neverDeliver } from "../support/faults/call-faults.js";
import { watched } from "../support/run/watched.js";
import { fakeTime } from "../support/worlds/fake-time.js";

const open = fakeTime();

test("Redis forgets the answers of hundreds of calls that are under way together", async () => {
  const { holdfast, server } = open();
  const semaphore = holdfast.getSemaphore("s");
  await semaphore.trySetPermits(1_000);
  for (let round = 0; round < 5; round++) {
    const task = async () => {
      await semaphore.tryAcquire();
      await semaphore.release();
    };
    await Promise.all(Array.from({ length: 200 }, task));
  }
  const key = Object.keys(server.dump()).find((name) => name.startsWith("holdfast_req:")) ?? "";
  // Those of the latest round may be there.
  expect(Number(server.command("HLEN", key))).toBeLessThan(400);
  await semaphore.delete();
});

test("what a body gives back does not make a semaphore again that has ended meanwhile", async () => {
  const { holdfast, server, clock } = open();
  const semaphore = holdfast.getSemaphore("s");
  await semaphore.trySetPermits(5, { ttlMs: 1_000 });
  const body = () => new Promise<void>((end) => void clock.schedule(2_000, end));
  const using = watched(semaphore.using(body));
  await clock.advance(2_100);
  expect([using.outcome, server.command("GET", "s")]).toEqual([{ value: undefined }, null]);
});

test("a release of unknown outcome is tried on although a server refuses it in between [R9]", async () => {
  const { holdfast, server, driver, clock } = open();
  const semaphore = holdfast.getSemaphore("s");
  await semaphore.trySetPermits(5);
  await semaphore.acquire();
  void driver.next(neverDeliver);
  const releasing = watched(semaphore.release());
  await clock.advance(3_100);
  expect(releasing.outcome).toMatchObject({ error: { outcomeUnknown: true } });
  void driver.next(answerWith(new ServerReplyError("MISCONF Redis is configured to save")), "semaphore-add");
  await clock.advance(30_000);
  expect(server.command("GET", "s")).toBe("5");
  await semaphore.delete();
});
