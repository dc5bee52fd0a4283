import { describe, expect, test } from "vitest";
import type { HoldfastOptions } from "../../../src/client-options.js";
import { watched } from "../../../test/support/run/watched.js";
import { type FakeTime, fakeTime } from "../../../test/support/worlds/fake-time.js";
import { listed } from "../../../test/support/worlds/listed.js";
import { joinedLock } from "../src/find/joined-lock.js";

const open = fakeTime();
/** By then a client with presence has told what it has. */
const TOLD_MS = 12_000;
const HOUR_MS = 60_000;

function fleetOf(app: string): HoldfastOptions {
  return { presence: { app } };
}

/** What a lock looks like by its name, and in the list. */
async function bothOf(time: FakeTime, name: string) {
  const { holdfast } = time.connect();
  const fleet = await holdfast.fleet();
  const { sources: _, ...joined } = joinedLock(await holdfast.inspect(name), fleet);
  const [found] = await listed(holdfast.locks({ match: name }));
  const { sources: __, ...other } = found ?? { sources: [] };
  return { joined, listed: { ...other, listeners: joined.listeners } };
}

describe("a lock that is looked at by its name", () => {
  test("is told as in the list", async () => {
    const time = open(fleetOf("api"));
    const { clock, holdfast } = time;
    const other = time.connect(fleetOf("jobs")).holdfast;
    const leases = [
      await holdfast.getLock("plain").lock({ leaseMs: HOUR_MS, note: "invoice 42" }),
      await holdfast.getFairLock("fair").lock({ leaseMs: HOUR_MS }),
      await holdfast.getFencedLock("fenced").lock({ leaseMs: HOUR_MS }),
      await holdfast.getReadWriteLock("both").writeLock().lock({ leaseMs: HOUR_MS }),
      await holdfast.getReadWriteLock("shared").readLock().lock({ leaseMs: HOUR_MS }),
      await other.getReadWriteLock("shared").readLock().lock({ leaseMs: HOUR_MS }),
    ];
    const controller = new AbortController();
    const { signal } = controller;
    const waiting = ["fair", "fair", "plain"].map((name) =>
      watched((name === "fair" ? other.getFairLock(name) : other.getLock(name)).lock({ signal })),
    );
    await clock.advance(TOLD_MS);
    for (const name of ["plain", "fair", "fenced", "both", "shared"]) {
      const { joined, listed: inList } = await bothOf(time, name);
      expect(joined).toEqual(inList);
      expect(joined.holders.every(({ client, sinceMs }) => client !== null && sinceMs !== null)).toBe(true);
    }
    expect((await bothOf(time, "fair")).joined.waiting).toHaveLength(2);
    controller.abort(new Error("enough"));
    await clock.advance(1_000);
    expect(waiting.every(({ outcome }) => outcome !== undefined && "error" in outcome)).toBe(true);
    for (const lease of leases) await lease.unlock();
    time.server.command("DEL", "redisson_lock_token:{fenced}");
  });

  test("has the longest wait first, of whichever client", async () => {
    const time = open();
    const { clock } = time;
    const holds = time.connect().holdfast;
    const lease = await holds.getLock("a").lock({ leaseMs: HOUR_MS });
    const controller = new AbortController();
    const { signal } = controller;
    const waits = ["first", "second"].map((app) => time.connect(fleetOf(app)).holdfast);
    const waiting = [];
    for (const holdfast of waits.toReversed()) {
      waiting.push(watched(holdfast.getLock("a").lock({ signal })));
      await clock.advance(1_000);
    }
    await clock.advance(TOLD_MS);
    const { joined, listed: inList } = await bothOf(time, "a");
    expect(joined).toEqual(inList);
    expect(joined.waiting.map(({ client }) => client?.app)).toEqual(["second", "first"]);
    controller.abort(new Error("enough"));
    await clock.advance(1_000);
    expect(waiting.every(({ outcome }) => outcome !== undefined && "error" in outcome)).toBe(true);
    await lease.unlock();
  });
});
