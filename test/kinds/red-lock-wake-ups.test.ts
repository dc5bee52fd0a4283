import { describe, expect, test } from "vitest";
import type { Lease } from "../../src/lease.js";
import { gate } from "../support/run/gate.js";
import { watchLeaks } from "../support/run/leaks.js";
import { type Watched, watched } from "../support/run/watched.js";
import { type FakeMasters, fakeMasters, type Party } from "../support/servers/fake-masters.js";

watchLeaks();
const open = fakeMasters();

/** So long that a waiter which had to help itself would outlast its test. */
const NEVER_MS = 3_600_000;
/** The time of one member, and the pauses after a round that came to nothing. */
const ROUND_MS = 500;

/** Lets a party wait for the lock once: from then on its channels are open, for some seconds more. */
async function hearing(world: FakeMasters, party: Party): Promise<void> {
  const held = await world.party().red().lock({ leaseMs: NEVER_MS });
  const waiting = watched(party.red().lock());
  await world.clock.advance(ROUND_MS);
  await held.unlock();
  await world.clock.advance(ROUND_MS);
  await leaseOf(waiting).unlock();
}

function leaseOf({ outcome }: Watched<Lease>): Lease {
  if (outcome === undefined || !("value" in outcome)) throw new Error("it has none");
  return outcome.value;
}

/** Others of the party wait for the lock on each of the servers, and give up again. */
async function heardByOthers(world: FakeMasters, { clients }: Party): Promise<void> {
  const leaving = new AbortController();
  const others = clients.map((client) => watched(client.getLock("a").lock({ signal: leaving.signal })));
  await world.clock.advance(10);
  leaving.abort("gone");
  await world.clock.advance(0);
  expect(others.slice(0, 2).map(({ outcome }) => outcome)).toEqual([{ error: "gone" }, { error: "gone" }]);
}

/** The third server is silent, so that the first round of a waiter lasts; the lock is released before it has ended. */
async function releasedInFirstRound(
  world: FakeMasters,
  party: Party,
  meanwhile: () => Promise<void>,
): Promise<Watched<Lease>> {
  const holder = world.party({ commandTimeoutMs: 100 });
  const held = await holder.red().lock({ leaseMs: NEVER_MS });
  const silent = world.masters[2];
  if (silent === undefined) throw new Error("there are three");
  silent.health = "silent";
  const waiting = watched(party.red().lock());
  await world.clock.advance(10);
  await meanwhile();
  const released = watched(held.unlock());
  await world.clock.advance(10);
  expect([waiting.outcome, world.heldOn("a")]).toEqual([undefined, [2]]);
  await world.clock.advance(ROUND_MS);
  expect(released.outcome).toEqual({ value: undefined });
  silent.health = 0;
  return waiting;
}

/** The holder's release reaches the third server once a command to it has timed out: closing the client does not wait for that. */
async function endedOf(world: FakeMasters, waiting: Watched<Lease>): Promise<void> {
  await leaseOf(waiting).unlock();
  await world.clock.advance(2 * ROUND_MS);
  expect(world.heldOn("a")).toEqual([]);
}

describe("a red lock that is released during the first round of a waiter is entered at once", () => {
  test("when the channels of the waiter were open before", async () => {
    const world = open();
    const party = world.party({ safetyPeriodMs: NEVER_MS });
    await hearing(world, party);
    const waiting = await releasedInFirstRound(world, party, () => Promise.resolve());
    expect(waiting.outcome).toMatchObject({ value: { state: "held" } });
    await endedOf(world, waiting);
  });

  test("when others opened the channels during that round", async () => {
    const world = open();
    const party = world.party({ safetyPeriodMs: NEVER_MS });
    for (const client of party.clients) await client.getLock("acquaintance").isLocked();
    const waiting = await releasedInFirstRound(world, party, () => heardByOthers(world, party));
    expect(waiting.outcome).toMatchObject({ value: { state: "held" } });
    await endedOf(world, waiting);
  });
});

describe("a red lock that a sibling inside the same hold has entered", () => {
  test("is entered at once when that leaves, which is told to nobody through Redis", async () => {
    const world = open();
    const { red, drivers } = world.party({ safetyPeriodMs: NEVER_MS });
    const lock = red();
    const subscribe = drivers.map(({ channels }) => channels.hold());
    const { opened, open: leave } = gate();
    const both = watched(
      lock.using(() => Promise.all([lock.using(() => opened), lock.using(() => "entered")])),
    );
    await world.clock.advance(ROUND_MS);
    expect(both.outcome).toBeUndefined();
    leave();
    await world.clock.advance(0);
    expect(both.outcome).toEqual({ value: [undefined, "entered"] });
    for (const goOn of subscribe) goOn();
  });
});
