import { describe, expect, test } from "vitest";
import type { WaitLine } from "../../src/runtime/wait-line.js";
import { asksInVain, LOCK, listeningLine, TTL_MS } from "../support/worlds/listening-line.js";

describe("the message of its own client's release", () => {
  test("is no news to a line, but the next message is", async () => {
    const { line, message } = await listeningLine();
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
    const { line, message } = await listeningLine();
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
    const { line, message } = await listeningLine();
    line.freeing();
    end(line);
    asksInVain(line);
    await message();
    expect(line.shouldAsk()).toBe(true);
  });

  test("may have been missed when messages begin to arrive anew: the next one is another's", async () => {
    const { clock, driver, line, message } = await listeningLine();
    line.freeing();
    driver.channels.reconnect();
    await clock.advance(0);
    asksInVain(line);
    await message();
    expect(line.shouldAsk()).toBe(true);
  });

  test("is not waited for by those who come after the line was empty", async () => {
    const { lines, line, head, waiter, message } = await listeningLine();
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
    const { line, message } = await listeningLine();
    line.freeing();
    await message();
    line.notFreed();
    expect(line.shouldAsk()).toBe(true);
    asksInVain(line);
    line.notFreed();
    expect(line.shouldAsk()).toBe(false);
  });

  test("was so once the lock was freed", async () => {
    const { line, message } = await listeningLine();
    line.freeing();
    await message();
    line.freed(1);
    asksInVain(line);
    line.notFreed();
    expect(line.shouldAsk()).toBe(false);
  });

  test("is nothing to those who come after the line was empty", async () => {
    const { lines, line, head, waiter, message } = await listeningLine();
    line.freeing();
    await message();
    lines.leave(line, head);
    const next = lines.join(LOCK, waiter());
    asksInVain(next);
    next.notFreed();
    expect(next.shouldAsk()).toBe(false);
  });
});

describe("those who come after a line was empty", () => {
  /** As {@link listeningLine}, of a line that has never listened. */
  async function deafLine() {
    const { clock, lines, waiter } = await listeningLine();
    const head = waiter();
    const line = lines.join({ id: ":deaf", channel: "deaf" }, head);
    const anew = () => {
      lines.leave(line, head);
      return lines.join({ id: ":deaf", channel: "deaf" }, waiter());
    };
    return { clock, line, anew };
  }

  test("are not told of a wake-up of those before", async () => {
    const { line, anew } = await deafLine();
    line.wake();
    const next = anew();
    next.seenHeld({ holder: "somebody", ttlMs: TTL_MS });
    expect(next.shouldAsk()).toBe(false);
  });

  test("have nothing to do with the turn that was left to others", async () => {
    const { clock, line, anew } = await deafLine();
    line.freed(2);
    const next = anew();
    next.seenHeld({ holder: "somebody", ttlMs: TTL_MS });
    await clock.advance(6);
    expect(next.shouldAsk()).toBe(false);
  });

  test("know of nobody who has the lock elsewhere", async () => {
    const { line, anew } = await deafLine();
    line.seenHeld({ holder: "somebody", ttlMs: TTL_MS, own: false });
    expect(line.isElsewhere).toBe(true);
    expect(anew().isElsewhere).toBe(false);
  });

  test("do not take one who has heard of a release for themselves while they do not listen", async () => {
    const { clock, lines, line, head, waiter } = await listeningLine();
    line.freeing();
    lines.leave(line, head);
    await clock.advance(11_000);
    const next = lines.join(LOCK, waiter());
    next.freed(1);
    expect(next.shouldAsk()).toBe(false);
  });
});

test("one who has heard of a release is another while the line does not hear yet", async () => {
  const { driver, lines, waiter } = await listeningLine();
  driver.channels.hold();
  const line = lines.join({ id: ":b", channel: "b" }, waiter());
  line.listen();
  line.freeing();
  line.freed(1);
  expect(line.shouldAsk()).toBe(false);
});

test("one who has heard of a release is this client while it is subscribed still, although the line listens no more [own-124]", async () => {
  const { line } = await listeningLine();
  line.ears?.rest();
  line.freeing();
  line.freed(1);
  expect(line.shouldAsk()).toBe(true);
});
