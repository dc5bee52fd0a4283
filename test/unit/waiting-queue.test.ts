import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { lockForceUnlock } from "../../src/protocol/force-unlock-scripts.js";
import type { AcquireAnswer, LookIntoQueue, Release, ReleaseAnswer } from "../../src/protocol/lock-calls.js";
import { lockAcquire, lockRelease } from "../../src/protocol/lock-scripts.js";
import {
  clientChannel,
  fencingTokenKey,
  lockChannel,
  nextField,
  waitingKey,
} from "../../src/protocol/names.js";
import { type QueueServer, queueServers } from "../support/servers/queue-servers.js";

const NEVER = Number.MAX_SAFE_INTEGER;
const NO_LIMIT = 0;
const LONG_AGO = 1;
const LEASE_MS = 60_000;
const GIVEN_MS = 1_500;
const QUEUE_MS = 600_000;

const [ONE, TWO, THREE, FOUR] = ["1", "2", "3", "4"].map(
  (id) => `${id}0000000-0000-8001-8000-000000000000`,
) as [string, string, string, string];
const JVM = "3f0c5f9e-6f1d-4a53-9b0e-0c1d2e3f4a5b:57";
/** A call of a client, by its number. */
const call = (client: string, nth = 1) => `${client}:${nth}`;
const QUEUE = waitingKey("a");
const CHANNEL = lockChannel("a");
const TOKEN = fencingTokenKey("a");
const channelOf = (client: string, key = "a") => clientChannel(lockChannel(key), client);
const turn = (client: string) => `${channelOf(client)} turn`;
const next = (client: string) => `${channelOf(client)} next`;
const released = { status: "released", heard: 0 };
const given = { ...released, given: true };
/** The latest release has given the lock away: the next one leaves it to the fastest. */
const MARK = ["given", "-2"];
const held = (stands: boolean, waits = false) => ({ status: "held", place: { stands, waits } });

describe.each(queueServers)("the queue of a lock on $name", ({ open }) => {
  let server: QueueServer;
  beforeAll(async () => {
    server = await open();
  });
  beforeEach(async () => {
    await server.raw("DEL", "a", "b", QUEUE, TOKEN);
    await server.listen(...[ONE, TWO, THREE, FOUR].map((client) => channelOf(client)));
    await server.heard();
  });
  afterAll(() => server.close());

  /** A call that waits asks. */
  async function asks(
    holder: string,
    { waitsOn = false, polls = false, fenced = false, notAfterMs = NEVER } = {},
  ): Promise<AcquireAnswer | undefined> {
    const lock = { key: "a", holder, leaseMs: LEASE_MS, heldCount: 0, kin: "", waits: true };
    const locks = [{ ...lock, fenced, channel: CHANNEL, queued: { waitsOn, polls } }];
    const [answer] = await server.run(lockAcquire, { notAfterMs, locks });
    return answer;
  }

  function releaseOf(
    holder: string,
    { key = "a", way = "stays", countsAll = true }: Partial<LookIntoQueue> & { readonly key?: string } = {},
  ): Release {
    const counts = { heldCount: 1, keptCount: 0, ttlMs: 1, keptMs: [] };
    return { key, holder, ...counts, channel: lockChannel(key), looks: { way, countsAll, asOf: {} } };
  }

  /** A release that looks into the queue. */
  async function releases(
    holder: string,
    options: Partial<LookIntoQueue> = {},
    notAfterMs = NO_LIMIT,
  ): Promise<ReleaseAnswer | undefined> {
    const [answer] = await server.run(lockRelease, { notAfterMs, locks: [releaseOf(holder, options)] });
    return answer;
  }

  async function holds(holder: string, key = "a"): Promise<void> {
    await server.raw("HSET", key, holder, 1);
    await server.raw("PEXPIRE", key, LEASE_MS);
  }

  const fields = (key = "a") => server.raw("HKEYS", key);
  /** Each client with its place, the first first: whether the connection pairs them or not. */
  async function queue(): Promise<unknown> {
    const reply = await server.raw("ZRANGE", QUEUE, 0, -1, "WITHSCORES");
    return (reply as readonly unknown[]).flat().map(String);
  }

  const ttlOf = async (key: string) => Number(await server.raw("PTTL", key));

  function busy(holder: string, stands: boolean, ahead: number, isTold: boolean): object {
    return { status: "busy", holder, waiting: { stands, ahead, isTold } };
  }

  /** A client has the lock, and these wait for it. */
  async function wait(holder: string, ...clients: readonly string[]): Promise<void> {
    await holds(holder);
    for (const client of clients) await asks(call(client));
    await server.heard();
  }

  describe("a client that polls", () => {
    const polls = (client: string) => asks(call(client), { polls: true });

    test("claims the lock where nobody waits, and is given it without a message", async () => {
      await holds(call(ONE));
      expect(await polls(TWO)).toMatchObject(busy(call(ONE), true, 0, false));
      expect(await polls(TWO)).toMatchObject(busy(call(ONE), true, 0, false));
      expect(await queue()).toEqual([TWO, "-3"]);
      expect(await releases(call(ONE))).toEqual(given);
      expect([await fields(), await server.heard()]).toEqual([[nextField(TWO)], [`${channelOf(ONE)} look`]]);
      expect(await polls(TWO)).toEqual(held(true));
      expect(await fields()).toEqual([call(TWO)]);
    });

    test("has a place behind those that wait, and claims the lock when they have had it", async () => {
      await wait(call(ONE), TWO);
      expect(await polls(THREE)).toMatchObject(busy(call(ONE), true, 1, false));
      expect(await asks(call(FOUR))).toMatchObject(busy(call(ONE), true, 1, false));
      expect(await queue()).toEqual([THREE, "-12", TWO, "1", FOUR, "2"]);
      expect(await releases(call(ONE))).toEqual(given);
      expect(await asks(call(TWO))).toEqual(held(true));
      await server.heard();
      expect(await polls(THREE)).toMatchObject(busy(call(TWO), true, 0, true));
      // The latest release has given it away: this one leaves it to the fastest.
      expect(await releases(call(TWO))).toEqual(released);
      expect(await server.heard()).toEqual([turn(FOUR)]);
      await holds(call(TWO));
      expect(await releases(call(TWO))).toEqual(given);
      expect([await fields(), await server.heard()]).toEqual([[nextField(THREE)], [next(FOUR)]]);
    });

    test("and gives up passes on what it was given", async () => {
      await holds(call(ONE));
      await polls(TWO);
      await asks(call(THREE));
      await releases(call(ONE));
      await server.heard();
      expect(await releases(nextField(TWO), { way: "leaves" })).toEqual(released);
      expect(await server.heard()).toEqual([turn(THREE)]);
      expect(await queue()).toEqual([THREE, "1"]);
    });
  });

  describe("a client that waits", () => {
    test("stands behind those that came before, and keeps its place when it asks again", async () => {
      await holds(JVM);
      for (const [at, client] of [ONE, TWO, THREE, FOUR].entries())
        expect(await asks(call(client))).toMatchObject(busy(JVM, true, Math.min(at, 2), false));
      const places = [ONE, "1", TWO, "2", THREE, "3", FOUR, "4"];
      expect(await queue()).toEqual(places);
      expect(await asks(call(TWO, 2))).toMatchObject(busy(JVM, true, 1, false));
      expect(await queue()).toEqual(places);
    });

    test("keeps the queue alive with each question", async () => {
      await wait(JVM, ONE);
      await server.raw("PEXPIRE", QUEUE, 1_000);
      await asks(call(ONE));
      expect(await ttlOf(QUEUE)).toBeGreaterThan(QUEUE_MS / 2);
      expect(await ttlOf(QUEUE)).toBeLessThanOrEqual(QUEUE_MS);
    });

    test("behind a call of its own stands there only beside others", async () => {
      await holds(call(ONE));
      expect(await asks(call(ONE, 2))).toMatchObject(busy(call(ONE), false, 0, false));
      expect(await queue()).toEqual([]);
      expect(await asks(call(TWO))).toMatchObject(busy(call(ONE), true, 0, false));
      expect(await asks(call(ONE, 2))).toMatchObject(busy(call(ONE), true, 1, true));
      expect(await asks(call(TWO))).toMatchObject(busy(call(ONE), true, 0, true));
    });

    test("that finds the lock free takes it, and stands there on only while others wait", async () => {
      await wait(JVM, ONE, TWO);
      await server.raw("DEL", "a");
      expect(await asks(call(ONE))).toEqual(held(true));
      expect(await queue()).toEqual([ONE, "-1", TWO, "2"]);
      expect(await asks(call(TWO))).toMatchObject(busy(call(ONE), true, 0, true));
      await server.raw("DEL", "a");
      expect(await asks(call(TWO))).toEqual(held(false));
      expect(await queue()).toEqual([ONE, "-1"]);
    });

    test("with more calls is the last when it has the lock", async () => {
      await wait(JVM, ONE, TWO);
      await server.raw("DEL", "a");
      expect(await asks(call(ONE), { waitsOn: true })).toEqual(held(true, true));
      expect(await queue()).toEqual([TWO, "2", ONE, "3"]);
    });

    test("whose question comes too late takes no place, and not what was given to it", async () => {
      await holds(nextField(ONE));
      expect(await asks(call(ONE), { notAfterMs: LONG_AGO })).toEqual({ status: "late" });
      expect([await fields(), await queue()]).toEqual([[nextField(ONE)], []]);
    });
  });

  describe("a release that looks", () => {
    test("gives the lock to the first for a while, and tells the second that", async () => {
      await wait(call(FOUR), ONE, TWO, THREE);
      expect(await releases(call(FOUR))).toEqual(given);
      expect(await server.heard()).toEqual([turn(ONE), next(TWO)]);
      expect(await fields()).toEqual([nextField(ONE)]);
      expect(await queue()).toEqual([...MARK, TWO, "2", THREE, "3"]);
      const ttlMs = await ttlOf("a");
      expect(ttlMs).toBeGreaterThan(0);
      expect(ttlMs).toBeLessThanOrEqual(GIVEN_MS);
    });

    test("gives it to a client that then takes it with its own lease, and to no other", async () => {
      await wait(call(FOUR), ONE, TWO);
      await releases(call(FOUR));
      expect(await asks(call(TWO))).toMatchObject(busy(nextField(ONE), true, 0, true));
      expect(await asks(call(ONE))).toEqual(held(true));
      expect(await fields()).toEqual([call(ONE)]);
      expect(await ttlOf("a")).toBeGreaterThan(LEASE_MS / 2);
    });

    test("leaves it to the fastest every other time, and tells the first two", async () => {
      await server.listen(CHANNEL, ...[ONE, TWO, THREE].map((client) => channelOf(client)));
      await wait(call(FOUR), ONE, TWO, THREE);
      expect(await releases(call(FOUR))).toEqual({ status: "released", heard: 1, given: true });
      expect(await server.heard()).toEqual([`${CHANNEL} 0`, turn(ONE), next(TWO)]);
      expect(await queue()).toEqual([...MARK, TWO, "2", THREE, "3"]);
      await asks(call(ONE));
      expect(await releases(call(ONE), { way: "leaves" })).toEqual({ status: "released", heard: 1 });
      expect(await server.heard()).toEqual([`${CHANNEL} 0`, turn(TWO), next(THREE)]);
      expect([await fields(), await queue()]).toEqual([[], [TWO, "2", THREE, "3"]]);
      await asks(call(TWO));
      expect(await releases(call(TWO))).toMatchObject({ given: true });
    });

    test("leaves no queue without an end, also when the one that waited was alone", async () => {
      await server.listen(CHANNEL, channelOf(ONE));
      await wait(call(FOUR), ONE);
      expect(await releases(call(FOUR))).toMatchObject({ given: true });
      expect(await queue()).toEqual(MARK);
      expect(await ttlOf(QUEUE)).toBeGreaterThan(0);
    });

    test("passes over clients that do not listen", async () => {
      await server.listen(channelOf(THREE));
      await wait(call(FOUR), ONE, TWO, THREE);
      expect(await releases(call(FOUR))).toEqual(given);
      expect(await fields()).toEqual([nextField(THREE)]);
      expect(await queue()).toEqual(MARK);
      expect(await server.heard()).toEqual([turn(THREE)]);
    });

    test("frees the lock when nobody who waits listens", async () => {
      await server.listen();
      await wait(call(FOUR), ONE, TWO);
      expect(await releases(call(FOUR))).toEqual(released);
      expect([await fields(), await queue()]).toEqual([[], []]);
    });

    test("believes that each client listens where a server does not know all who do", async () => {
      await server.listen();
      await wait(call(FOUR), ONE, TWO);
      expect(await releases(call(FOUR), { countsAll: false })).toEqual(given);
      expect(await fields()).toEqual([nextField(ONE)]);
    });

    test("does not give the lock to the client that frees it", async () => {
      await holds(call(ONE));
      await asks(call(TWO));
      await asks(call(ONE, 2));
      expect(await releases(call(ONE))).toEqual(given);
      expect([await fields(), await queue()]).toEqual([[nextField(TWO)], [...MARK, ONE, "2"]]);
    });

    test("has the client that was given it look as well, so that the turn about goes on", async () => {
      await wait(call(FOUR), ONE);
      await releases(call(FOUR));
      expect(await asks(call(ONE))).toEqual(held(true));
      await asks(call(TWO));
      expect(await releases(call(ONE), { way: "leaves" })).toEqual(released);
      expect([await fields(), await queue()]).toEqual([[], [TWO, "1"]]);
      expect(await asks(call(TWO))).toEqual(held(false));
      expect(await queue()).toEqual([]);
    });

    test("that finds nothing of its holder leaves the lock and the queue alone", async () => {
      await wait(call(FOUR), ONE);
      expect(await releases(call(THREE))).toMatchObject({ status: "absent" });
      expect([await fields(), await queue(), await server.heard()]).toEqual([[call(FOUR)], [ONE, "1"], []]);
    });

    test("that comes too late changes nothing", async () => {
      await wait(call(FOUR), ONE);
      expect(await releases(call(FOUR), { way: "leaves" }, LONG_AGO)).toEqual({ status: "late" });
      expect([await fields(), await queue(), await server.heard()]).toEqual([[call(FOUR)], [ONE, "1"], []]);
    });

    test("is one of several in a command, each with its own queue", async () => {
      await wait(call(FOUR), ONE);
      await holds(call(FOUR), "b");
      const keys = ["b", "a", "c"];
      const locks = keys.map((key) => releaseOf(call(FOUR), { key, way: "leaves" }));
      const answers = await server.run(lockRelease, { notAfterMs: NO_LIMIT, locks });
      expect(answers).toEqual([released, given, { status: "absent" }]);
      expect([await fields("a"), await fields("b")]).toEqual([[nextField(ONE)], []]);
    });
  });

  test("a call to the first that waits frees nothing, and is heard by that one", async () => {
    await wait(JVM, ONE, TWO);
    expect(await releases("", { way: "calls" })).toEqual({ status: "absent" });
    expect([await fields(), await queue()]).toEqual([[JVM], [ONE, "1", TWO, "2"]]);
    expect(await server.heard()).toEqual([turn(ONE)]);
  });

  describe("a client that waits no more", () => {
    const leave = (client: string) => releases(nextField(client), { way: "leaves" });

    test("frees what was given to it, and tells the next", async () => {
      await wait(call(FOUR), ONE, TWO);
      await releases(call(FOUR));
      await server.heard();
      expect(await leave(ONE)).toEqual(released);
      expect([await fields(), await queue()]).toEqual([[], [TWO, "2"]]);
      expect(await server.heard()).toEqual([turn(TWO)]);
    });

    test("has the new first ask when it was the first itself, as that may have to hear of the holder", async () => {
      await wait(JVM, ONE, TWO, THREE);
      await leave(TWO);
      expect([await queue(), await server.heard()]).toEqual([[ONE, "1", THREE, "3"], []]);
      await leave(ONE);
      expect([await queue(), await server.heard()]).toEqual([[THREE, "3"], [turn(THREE)]]);
      await leave(THREE);
      expect([await server.raw("EXISTS", QUEUE), await server.heard()]).toEqual([0, []]);
      expect(await fields()).toEqual([JVM]);
    });

    test("has the next ask when the lock has become free", async () => {
      await wait(JVM, ONE, TWO);
      await server.raw("DEL", "a");
      await leave(ONE);
      expect([await fields(), await server.heard()]).toEqual([[], [turn(TWO)]]);
    });
  });

  test("draws one token for a fenced lock that is given: with its taking, also when that is repeated", async () => {
    await server.raw("SET", TOKEN, 7);
    await holds(call(FOUR));
    expect(await asks(call(ONE), { fenced: true })).toMatchObject({ status: "busy" });
    await releases(call(FOUR));
    expect(await server.raw("GET", TOKEN)).toBe("7");
    for (let sent = 0; sent < 2; sent += 1)
      expect(await asks(call(ONE), { fenced: true })).toEqual({ ...held(true), token: 8n });
    expect([await server.raw("GET", TOKEN), await fields()]).toEqual(["8", [call(ONE)]]);
  });

  test("has its first told to ask when the lock is freed by force", async () => {
    await server.listen(CHANNEL, channelOf(ONE), channelOf(TWO));
    await wait(call(FOUR), ONE, TWO);
    const seen = { [call(FOUR)]: "1" };
    const answer = await server.run(lockForceUnlock, { key: "a", notAfterMs: NEVER, channel: CHANNEL, seen });
    expect(answer).toEqual({ status: "released" });
    expect(await server.heard()).toEqual([`${CHANNEL} 0`, turn(ONE)]);
  });

  test("is as one without anybody where its key is of another type", async () => {
    await server.raw("SET", QUEUE, "text");
    await holds(call(FOUR));
    expect(await asks(call(ONE))).toMatchObject(busy(call(FOUR), false, 0, false));
    expect(await releases(call(FOUR))).toEqual(released);
    expect(await server.raw("GET", QUEUE)).toBe("text");
    expect(await asks(call(ONE))).toEqual(held(false));
    await server.raw("SET", QUEUE, "text");
    const seen = { [call(ONE)]: "1" };
    const answer = await server.run(lockForceUnlock, { key: "a", notAfterMs: NEVER, channel: CHANNEL, seen });
    expect([answer, await fields()]).toEqual([{ status: "released" }, []]);
  });
});
