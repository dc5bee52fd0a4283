import { expect, test } from "vitest";
import type { Lease } from "../../src/lease.js";
import type { Lock } from "../../src/locks/lock.js";
import { type Watched, watched } from "../support/run/watched.js";
import { type FakeTime, type FakeTimeClient, fakeTime } from "../support/worlds/fake-time.js";
import { arrived, KEY, PATIENT } from "../support/worlds/hand-off-scene.js";

const open = fakeTime();
const GIVEN_MS = 1_500;

const pairOf = ({ holdfast }: FakeTimeClient, fair = false) => holdfast.getReadWriteLock(KEY, { fair });
const writerOf = (client: FakeTimeClient) => pairOf(client).writeLock();

/** A call that waits, with its subscriptions and questions done. */
async function waits({ clock }: FakeTime, lock: Lock): Promise<Watched<Lease>> {
  const call = watched(lock.lock());
  await clock.advance(0);
  return call;
}

async function frees(time: FakeTime, call: Watched<Lease>): Promise<void> {
  await arrived(time, watched((await arrived(time, call)).unlock()));
}

test("a release wakes one waiting client and not all: three commands for each of 20 turns", async () => {
  const time = open(PATIENT);
  const clients = [time, ...Array.from({ length: 5 }, () => time.connect(PATIENT))];
  const calls: Watched<Lease>[] = [];
  for (const client of clients) calls.push(await waits(time, writerOf(client)));
  const turns = async (count: number) => {
    for (let turn = 0; turn < count; turn += 1) {
      const at = calls.findIndex(({ outcome }) => outcome !== undefined);
      const [call] = calls.splice(at, 1);
      const [client] = clients.splice(at, 1);
      if (call === undefined || client === undefined) throw new Error("nobody has the lock");
      await frees(time, call);
      clients.push(client);
      calls.push(await waits(time, writerOf(client)));
    }
  };
  // The first release is of one that did not know of the others.
  await turns(clients.length);
  for (const { driver } of clients) driver.calls.length = 0;
  await turns(20);
  const asked = clients.flatMap(({ driver }) => driver.calls.map(({ call }) => call.script.name));
  expect(asked.filter((name) => name === "write-release")).toHaveLength(20);
  // Each comes by the question that finds it taken, and by that of its turn.
  expect(asked.filter((name) => name === "write-acquire")).toHaveLength(40);
  for (let turn = 0; turn < clients.length; turn += 1) {
    const at = calls.findIndex(({ outcome }) => outcome !== undefined);
    const [call] = calls.splice(at, 1);
    if (call !== undefined) await frees(time, call);
  }
  expect(time.server.dump()).toEqual({});
});

test("a lock that is given to a writer keeps readers out, and after the next release they get in", async () => {
  const time = open(PATIENT);
  const [one, two, three] = [time.connect(PATIENT), time.connect(PATIENT), time.connect(PATIENT)];
  const holder = await waits(time, writerOf(time));
  const first = await waits(time, writerOf(one));
  const second = await waits(time, writerOf(two));
  await frees(time, holder);
  const reads = await waits(time, pairOf(three).readLock());
  await frees(time, first);
  expect([second.outcome, reads.outcome]).toEqual([
    { value: expect.objectContaining({ state: "held" }) },
    undefined,
  ]);
  await frees(time, second);
  await frees(time, reads);
  expect(time.server.dump()).toEqual({});
});

test("the first is told when readers that came meanwhile have left, though their release does not look", async () => {
  const time = open(PATIENT);
  const [one, two] = [time.connect(PATIENT), time.connect(PATIENT)];
  const read = await waits(time, pairOf(time).readLock());
  const first = await waits(time, writerOf(one));
  const second = await waits(time, writerOf(two));
  expect([first.outcome, second.outcome]).toEqual([undefined, undefined]);
  await frees(time, read);
  await frees(time, first);
  await frees(time, second);
  expect(time.server.dump()).toEqual({});
});

test("a writer that reads on calls the first, which hears when the last of its reads is over", async () => {
  const time = open(PATIENT);
  const [one, two] = [time.connect(PATIENT), time.connect(PATIENT)];
  const { holdfast, clock } = time;
  let ends: () => void = () => undefined;
  const end = new Promise<void>((resolve) => {
    ends = resolve;
  });
  const body = watched(
    holdfast.asThread(async () => {
      const writes = await pairOf(time).writeLock().lock();
      const read = await pairOf(time).readLock().lock();
      await end;
      await writes.unlock();
      return read;
    }),
  );
  await clock.advance(0);
  const first = await waits(time, writerOf(one));
  const second = await waits(time, writerOf(two));
  ends();
  const read = await arrived(time, body);
  expect([first.outcome, second.outcome]).toEqual([undefined, undefined]);
  await arrived(time, watched(read.unlock()));
  await frees(time, first);
  await frees(time, second);
  expect(time.server.dump()).toEqual({});
});

test("a writer that waits behind a read of its own client is told when that is over, and stands before those that came later", async () => {
  const time = open(PATIENT);
  const other = time.connect(PATIENT);
  const read = await waits(time, pairOf(time).readLock());
  const mine = await waits(time, writerOf(time));
  const theirs = await waits(time, writerOf(other));
  await frees(time, read);
  await frees(time, mine);
  await frees(time, theirs);
  expect(time.server.dump()).toEqual({});
});

test("a client that is given the lock and is dead costs those behind it 1.5 s, and a second one as much", async () => {
  const time = open(PATIENT);
  const { clock } = time;
  const dead = [time.connect(PATIENT), time.connect(PATIENT)];
  const holder = await waits(time, writerOf(time));
  for (const client of dead) await waits(time, writerOf(client));
  const alive = await waits(time, writerOf(time.connect(PATIENT)));
  const again = await waits(time, writerOf(time));
  for (const { driver } of dead) driver.channels.mute(true);

  // Given to the first, which does not hear of it.
  await frees(time, holder);
  expect(time.fields(KEY)).toMatchObject({ [`${dead[0]?.holdfast.clientId}:next:write`]: "1" });
  await clock.advance(GIVEN_MS - 10);
  expect([alive.outcome, again.outcome]).toEqual([undefined, undefined]);
  await clock.advance(20);
  expect(again.outcome).toHaveProperty("value");
  // Left to the fastest: the second does not hear its turn, and the one behind it has heard that it is the next.
  await frees(time, again);
  await clock.advance(GIVEN_MS - 10);
  expect(alive.outcome).toBeUndefined();
  await clock.advance(20);
  await frees(time, alive);
  time.server.flush();
});

test("a call that gives up in the moment in which its client is given the lock passes it on at once", async () => {
  const time = open(PATIENT);
  const [one, two] = [time.connect(PATIENT), time.connect(PATIENT)];
  const holder = await waits(time, writerOf(time));
  const giving = new AbortController();
  const first = watched(writerOf(one).lock({ signal: giving.signal }));
  await time.clock.advance(0);
  const second = await waits(time, writerOf(two));
  const again = await waits(time, writerOf(time));
  one.driver.channels.mute(true);
  await frees(time, holder);
  expect(time.fields(KEY)).toMatchObject({ [`${one.holdfast.clientId}:next:write`]: "1" });
  giving.abort("gone");
  await time.clock.advance(0);
  expect(first.outcome).toEqual({ error: "gone" });
  await frees(time, second);
  await frees(time, again);
  expect(time.server.dump()).toEqual({});
});

test("a plain writer and a fair one of one client wait in one line, and each hears what wakes it", async () => {
  for (const fairFirst of [false, true]) {
    const time = open(PATIENT);
    const holder = await waits(time, writerOf(time.connect(PATIENT)));
    const first = await waits(time, pairOf(time, fairFirst).writeLock());
    const second = await waits(time, pairOf(time, !fairFirst).writeLock());
    await time.clock.advance(10);
    await frees(time, holder);
    await frees(time, first);
    await frees(time, second);
    expect(time.server.dump()).toEqual({});
  }
});
