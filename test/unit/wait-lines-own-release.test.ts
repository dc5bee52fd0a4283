import { describe, expect, test } from "vitest";
import { MemoryServer, memoryDriver } from "../../src/driver/memory/index.js";
import type { WaitLine } from "../../src/runtime/wait-line.js";
import { WaitLines } from "../../src/runtime/wait-lines.js";
import { Waiter } from "../../src/runtime/waiter.js";
import { CountingClock } from "../support/counting-clock.js";
import { plainSubscriptions } from "../support/plain-subscriptions.js";
import { ScriptedDriver } from "../support/scripted-driver.js";
import { watched } from "../support/watched.js";

const SAFETY_MS = 5_000;
const CHANNEL = "redisson_lock__channel:{a}";
const LOCK = { id: ":a", channel: CHANNEL };
const TTL_MS = 4_000;

/** A line whose head listens, and has just seen the lock held by its own client. */
async function setUp() {
  const clock = new CountingClock();
  const server = new MemoryServer({ clock });
  const driver = new ScriptedDriver(memoryDriver(server));
  const lines = new WaitLines(clock, plainSubscriptions(driver, clock, 3_000), SAFETY_MS);
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
function asksInVain(line: WaitLine): void {
  line.asking();
  line.seenHeld({ holder: "somebody", ttlMs: TTL_MS });
}

describe("the message of its own client's release", () => {
  test("is no news to a line, but the next message is", async () => {
    const { line, message } = await setUp();
    line.freeing();
    await message();
    expect(line.shouldAsk()).toBe(false);
    line.freed(1);
    expect(line.shouldAsk()).toBe(true);
    asksInVain(line);
    await message();
    expect(line.shouldAsk()).toBe(true);
  });

  test("is none either when it comes after the answer", async () => {
    const { line, message } = await setUp();
    line.freeing();
    line.freed(1);
    asksInVain(line);
    await message();
    expect(line.shouldAsk()).toBe(false);
  });

  test.each([
    ["nobody has heard of it", (line: WaitLine) => line.freed(0)],
    ["nothing was freed", (line: WaitLine) => line.notFreed()],
  ])("does not come when %s: the next one is another's", async (_, end) => {
    const { line, message } = await setUp();
    line.freeing();
    end(line);
    asksInVain(line);
    await message();
    expect(line.shouldAsk()).toBe(true);
  });

  test("may have been missed when messages begin to arrive anew: the next one is another's", async () => {
    const { clock, driver, line, message } = await setUp();
    line.freeing();
    driver.channels.reconnect();
    await clock.advance(0);
    asksInVain(line);
    await message();
    expect(line.shouldAsk()).toBe(true);
  });

  test("is not waited for by those who come after the line was empty", async () => {
    const { lines, line, head, waiter, message } = await setUp();
    line.freeing();
    lines.leave(line, head);
    const next = lines.join(LOCK, waiter());
    asksInVain(next);
    await message();
    expect(next.shouldAsk()).toBe(true);
  });
});

describe("a message that was taken for the own one", () => {
  test("was another's when nothing was freed, and is news once", async () => {
    const { line, message } = await setUp();
    line.freeing();
    await message();
    line.notFreed();
    expect(line.shouldAsk()).toBe(true);
    asksInVain(line);
    line.notFreed();
    expect(line.shouldAsk()).toBe(false);
  });

  test("was so once the lock was freed", async () => {
    const { line, message } = await setUp();
    line.freeing();
    await message();
    line.freed(1);
    asksInVain(line);
    line.notFreed();
    expect(line.shouldAsk()).toBe(false);
  });

  test("is nothing to those who come after the line was empty", async () => {
    const { lines, line, head, waiter, message } = await setUp();
    line.freeing();
    await message();
    lines.leave(line, head);
    const next = lines.join(LOCK, waiter());
    asksInVain(next);
    next.notFreed();
    expect(next.shouldAsk()).toBe(false);
  });
});

describe("a line that leaves the lock to others", () => {
  test("asks once they have had their turn, whatever was seen meanwhile", async () => {
    const { clock, line, head } = await setUp();
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
    const { clock, line } = await setUp();
    await clock.advance(TTL_MS + 2);
    line.asking();
    line.freeing();
    line.freed(2);
    expect(line.shouldAsk()).toBe(false);
  });
});

test("a TTL of which less than a millisecond is left is waited for, and not the safety period", async () => {
  const { clock, line } = await setUp();
  line.seenHeld({ holder: "somebody", ttlMs: 0 });
  await clock.advance(1.1);
  expect(line.shouldAsk()).toBe(true);
});

test("a head that sleeps is woken when listening fails, to try it again", async () => {
  const { clock, driver, lines, line, head, waiter } = await setUp();
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
});

test("a line that was empty for long listens anew", async () => {
  const { clock, driver, lines, line, head, waiter, message } = await setUp();
  lines.leave(line, head);
  await clock.advance(11_000);
  lines.join(LOCK, waiter());
  line.listen();
  await clock.advance(0);
  asksInVain(line);
  await message();
  expect([driver.channels.asked.length, line.shouldAsk()]).toEqual([2, true]);
});

describe("those who come after a line was empty", () => {
  /** As {@link setUp}, of a line that has never listened. */
  async function setUpDeaf() {
    const { clock, lines, waiter } = await setUp();
    const head = waiter();
    const line = lines.join({ id: ":deaf", channel: "deaf" }, head);
    const anew = () => {
      lines.leave(line, head);
      return lines.join({ id: ":deaf", channel: "deaf" }, waiter());
    };
    return { clock, line, anew };
  }

  test("are not told of a wake-up of those before", async () => {
    const { line, anew } = await setUpDeaf();
    line.wake();
    const next = anew();
    next.seenHeld({ holder: "somebody", ttlMs: TTL_MS });
    expect(next.shouldAsk()).toBe(false);
  });

  test("have nothing to do with the turn that was left to others", async () => {
    const { clock, line, anew } = await setUpDeaf();
    line.freed(2);
    const next = anew();
    next.seenHeld({ holder: "somebody", ttlMs: TTL_MS });
    await clock.advance(6);
    expect(next.shouldAsk()).toBe(false);
  });

  test("know of nobody who has the lock elsewhere", async () => {
    const { line, anew } = await setUpDeaf();
    line.seenHeld({ holder: "somebody", ttlMs: TTL_MS, own: false });
    expect(line.isElsewhere).toBe(true);
    expect(anew().isElsewhere).toBe(false);
  });

  test("do not take one who has heard of a release for themselves while they do not listen", async () => {
    const { clock, lines, line, head, waiter } = await setUp();
    line.freeing();
    lines.leave(line, head);
    await clock.advance(11_000);
    const next = lines.join(LOCK, waiter());
    next.freed(1);
    expect(next.shouldAsk()).toBe(false);
  });
});

test("one who has heard of a release is another while the line does not hear yet", async () => {
  const { driver, lines, waiter } = await setUp();
  driver.channels.hold();
  const line = lines.join({ id: ":b", channel: "b" }, waiter());
  line.listen();
  line.freeing();
  line.freed(1);
  expect(line.shouldAsk()).toBe(false);
});

test("one who gives up behind the head is in the line no more", async () => {
  const { lines, line, head, waiter } = await setUp();
  const next = waiter();
  lines.join(LOCK, next);
  lines.leave(line, next);
  expect(lines.lengthOf(LOCK.id)).toBe(1);
  lines.leave(line, head);
  expect(lines.lengthOf(LOCK.id)).toBe(0);
});

test("a line that is left empty takes its alarm with it", async () => {
  const [watching, other] = [await setUp(), await setUp()];
  watching.line.watch();
  for (const { lines, line, head } of [watching, other]) lines.leave(line, head);
  expect(watching.clock.pendingTimers).toBe(other.clock.pendingTimers);
});

test("a line that is to wake sooner has one alarm all the same", async () => {
  const { clock, line } = await setUp();
  line.watch();
  const timers = clock.pendingTimers;
  line.seenHeld({ holder: "somebody", ttlMs: 50 });
  line.watch();
  expect(clock.pendingTimers).toBe(timers);
});

test("whoever comes after a line was empty is woken by an alarm of its own", async () => {
  const { clock, lines, line, head, waiter } = await setUp();
  line.watch();
  lines.leave(line, head);
  const next = waiter();
  lines.join(LOCK, next);
  await next.pause();
  await clock.advance(1);
  asksInVain(line);
  line.watch();
  const slept = watched(next.pause());
  await clock.advance(TTL_MS + 2);
  expect(slept.outcome).toBeDefined();
});

test("a head that naps asks again after that, whatever was seen before", async () => {
  const { clock, line } = await setUp();
  expect(line.nap(100)).toBe(100);
  await clock.advance(99);
  expect(line.shouldAsk()).toBe(false);
  await clock.advance(1.1);
  expect(line.shouldAsk()).toBe(true);
});

describe("the turn that is left to others", () => {
  test("is over once the line has asked", async () => {
    const { clock, line } = await setUp();
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
      async ({ line }: Awaited<ReturnType<typeof setUp>>) => line.seenHeld({ holder: "own", ttlMs: TTL_MS }),
    ],
    [
      "as long after one in which another client was seen to have the lock",
      5,
      async ({ line }: Awaited<ReturnType<typeof setUp>>) =>
        line.seenHeld({ holder: "other", ttlMs: TTL_MS, own: false }),
    ],
    [
      "as long after one in which another client has freed it",
      5,
      async ({ message }: Awaited<ReturnType<typeof setUp>>) => message(),
    ],
  ])("is %s", async (_, turnMs, meanwhile) => {
    const world = await setUp();
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
