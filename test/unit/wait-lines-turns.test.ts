import { describe, expect, test } from "vitest";
import { YOU_ARE_NEXT } from "../../src/protocol/messages.js";
import { watched } from "../support/run/watched.js";
import { asksInVain, LOCK, listeningLine, TTL_MS } from "../support/worlds/listening-line.js";

describe("a line that leaves the lock to others", () => {
  test("asks once they have had their turn, whatever was seen meanwhile", async () => {
    const { clock, line, head } = await listeningLine();
    line.watch();
    const slept = watched(head.pause());
    line.freeing();
    line.freed(2);
    await clock.advance(0);
    // It has woken to sleep until then.
    expect([slept.outcome !== undefined, line.shouldAsk()]).toEqual([true, false]);
    await clock.advance(4.9);
    expect(line.shouldAsk()).toBe(false);
    line.seenHeld({ holder: "somebody", ttlMs: TTL_MS });
    await clock.advance(0.2);
    expect(line.shouldAsk()).toBe(true);
  });

  test("does so although the time that it was to wait before is over", async () => {
    const { clock, line } = await listeningLine();
    await clock.advance(TTL_MS + 2);
    line.asking();
    line.freeing();
    line.freed(2);
    expect(line.shouldAsk()).toBe(false);
  });
});

test("a line that hears, while it asks, that it is the next one asks again, as the answer may be older [own-118]", async () => {
  const { clock, line, head } = await listeningLine();
  await clock.advance(TTL_MS + 2);
  expect(head.isAsleep).toBe(false);
  line.asking();
  line.called(YOU_ARE_NEXT);
  line.seenHeld({ holder: "somebody", ttlMs: TTL_MS, own: false });
  line.stands({ stands: true, waits: true, ahead: 1, isTold: true }, TTL_MS);
  expect(line.shouldAsk()).toBe(true);
});

test("a TTL of which less than a millisecond is left is waited for, and not the safety period", async () => {
  const { clock, line } = await listeningLine();
  line.seenHeld({ holder: "somebody", ttlMs: 0 });
  await clock.advance(1.1);
  expect(line.shouldAsk()).toBe(true);
});

test("a head that sleeps is woken when listening fails, to try it again", async () => {
  const { clock, driver, lines, line, head, waiter } = await listeningLine();
  lines.leave(line, head);
  // The channel is closed when nobody has listened for so long.
  await clock.advance(11_000);
  const next = waiter();
  lines.join(LOCK, next);
  asksInVain(line);
  driver.channels.failNext(new Error("too many channels"));
  line.watch();
  const slept = watched(next.pause());
  await clock.advance(0);
  expect([slept.outcome !== undefined, driver.channels.asked.length]).toEqual([true, 2]);
  line.watch();
  await clock.advance(249);
  expect(driver.channels.asked.length).toBe(2);
  await clock.advance(1);
  line.watch();
  expect(driver.channels.asked.length).toBe(3);
});

test("a line that was empty for long listens anew", async () => {
  const { clock, driver, lines, line, head, waiter, message } = await listeningLine();
  lines.leave(line, head);
  await clock.advance(11_000);
  lines.join(LOCK, waiter());
  line.listen();
  await clock.advance(0);
  asksInVain(line);
  await message();
  expect([driver.channels.asked.length, line.shouldAsk()]).toEqual([2, true]);
});

test("one who gives up behind the head is in the line no more", async () => {
  const { lines, line, head, waiter } = await listeningLine();
  const next = waiter();
  lines.join(LOCK, next);
  lines.leave(line, next);
  expect(lines.lengthOf(LOCK.id)).toBe(1);
  lines.leave(line, head);
  expect(lines.lengthOf(LOCK.id)).toBe(0);
});

test("a line that is left empty takes its alarm with it", async () => {
  const [watching, other] = [await listeningLine(), await listeningLine()];
  watching.line.watch();
  for (const { lines, line, head } of [watching, other]) lines.leave(line, head);
  expect(watching.clock.pendingTimers).toBe(other.clock.pendingTimers);
});

test("a line that is to wake sooner has one alarm all the same", async () => {
  const { clock, line } = await listeningLine();
  line.watch();
  const timers = clock.pendingTimers;
  line.seenHeld({ holder: "somebody", ttlMs: 50 });
  line.watch();
  expect(clock.pendingTimers).toBe(timers);
});

test("whoever comes after a line was empty is woken by an alarm of its own", async () => {
  const { clock, lines, line, head, waiter } = await listeningLine();
  line.watch();
  lines.leave(line, head);
  const next = waiter();
  lines.join(LOCK, next);
  await clock.advance(1);
  asksInVain(line);
  line.watch();
  const slept = watched(next.pause());
  await clock.advance(TTL_MS + 2);
  expect(slept.outcome).toEqual({ value: undefined });
});

test("a head that naps asks again after that, whatever was seen before", async () => {
  const { clock, line } = await listeningLine();
  expect(line.nap(100)).toBe(100);
  await clock.advance(99);
  expect(line.shouldAsk()).toBe(false);
  await clock.advance(1.1);
  expect(line.shouldAsk()).toBe(true);
});

describe("the turn that is left to others", () => {
  test("is over once the line has asked", async () => {
    const { clock, line } = await listeningLine();
    line.freeing();
    line.freed(2);
    asksInVain(line);
    await clock.advance(6);
    expect(line.shouldAsk()).toBe(false);
  });

  test.each([
    [
      "longer after one that nobody has used",
      20,
      async ({ line }: Awaited<ReturnType<typeof listeningLine>>) =>
        line.seenHeld({ holder: "own", ttlMs: TTL_MS }),
    ],
    [
      "as long after one in which another client was seen to have the lock",
      5,
      async ({ line }: Awaited<ReturnType<typeof listeningLine>>) =>
        line.seenHeld({ holder: "other", ttlMs: TTL_MS, own: false }),
    ],
    [
      "as long after one in which another client has freed it",
      5,
      async ({ message }: Awaited<ReturnType<typeof listeningLine>>) => message(),
    ],
  ])("is %s", async (_, turnMs, meanwhile) => {
    const world = await listeningLine();
    const { clock, line, message } = world;
    const free = async () => {
      line.freeing();
      await message();
      line.freed(2);
    };
    await free();
    await meanwhile(world);
    await clock.advance(5.1);
    line.asking();
    await free();
    await clock.advance(turnMs - 0.2);
    expect(line.shouldAsk()).toBe(false);
    await clock.advance(0.3);
    expect(line.shouldAsk()).toBe(true);
  });
});
