import { describe, expect, test } from "vitest";
import type { FeedSnapshot, Freed, LockDetail } from "../../src/inspector/format.js";
import { inspecting } from "../support/worlds/inspecting.js";
import { JVM } from "../support/worlds/listed.js";

const open = inspecting();
const HOUR_MS = 3_600_000;
const TOLD_MS = 12_000;
const OF_PAGE = { "sec-fetch-site": "same-origin" };

type Plant = (command: (...args: [string, ...(string | number)[]]) => unknown) => void;

const COUNTERS = ["abc", "1.5", "1e3", "0x10", "", "-", "9".repeat(400)];

/** What strangers may leave at the key of a lock that somebody waits for. */
const planted: Readonly<Record<string, Plant>> = {
  ...Object.fromEntries(
    COUNTERS.map((counter): [string, Plant] => [
      `a fencing counter of ${JSON.stringify(counter.slice(0, 8))}`,
      (command) => {
        command("HSET", "strange", `${JVM}:1`, "1");
        command("SET", "redisson_lock_token:{strange}", counter);
      },
    ]),
  ),
  "a count that is no number": (command) => command("HSET", "strange", `${JVM}:1`, "many"),
  "a field that is no holder": (command) => command("HSET", "strange", "\u0000\ud83d", "1"),
  "a mode of its own": (command) => command("HSET", "strange", "mode", "\u202e", `${JVM}:1`, "1"),
  "a list": (command) => command("RPUSH", "strange", "a"),
  "a text": (command) => command("SET", "strange", "not a number"),
  "permits that are no number": (command) => {
    command("SET", "strange", "x");
    command("ZADD", "{strange}:timeout", 1, "permit");
  },
  "a queue that is no list": (command) => {
    command("HSET", "strange", `${JVM}:1`, "1");
    command("SET", "redisson_lock_queue:{strange}", "x");
  },
  "ends of permits that are no set": (command) => {
    command("SET", "strange", "1");
    command("SET", "{strange}:timeout", "x");
  },
};

describe("one strange key takes nothing of the page:", () => {
  test.each(Object.entries(planted))("%s [I9]", async (_, plant) => {
    const world = open({ presence: { app: "billing" } });
    const { time, ask } = world;
    const lease = await time.holdfast.getLock("a").lock({ leaseMs: HOUR_MS });
    plant((...args) => time.server.command(...args));
    const channels = ["redisson_lock__channel:{strange}", "redisson_sc:{strange}"];
    const ends = channels.map((channel) => time.server.subscribe(channel, () => undefined));
    await time.clock.advance(TOLD_MS);
    const snapshot = (await (await ask("?snapshot")).json()) as FeedSnapshot;
    expect([snapshot.away, snapshot.locks.map(({ key }) => key)]).toEqual([
      null,
      expect.arrayContaining(["a"]),
    ]);
    const detail = (await (await ask("?lock=strange")).json()) as LockDetail;
    const headers = { ...OF_PAGE, "holdfast-seen": detail.lock?.seen ?? "x".repeat(43) };
    const freed = await ask("?free=strange", { method: "POST", headers });
    const told = (await freed.json()) as Partial<Freed> & { nothingDone?: boolean };
    const isRefused = freed.status === 400 || told.nothingDone === true;
    expect([freed.status, told, isRefused || told.outcome === "released"]).toEqual([
      freed.status,
      told,
      true,
    ]);
    const other = (await (await ask("?lock=a")).json()) as LockDetail;
    const seen = { ...OF_PAGE, "holdfast-seen": other.lock?.seen ?? "" };
    expect(await (await ask("?free=a", { method: "POST", headers: seen })).json()).toMatchObject({
      outcome: "released",
    });
    for (const end of ends) end();
    expect(lease.state).toBe("held");
    time.server.flush();
  });
});
