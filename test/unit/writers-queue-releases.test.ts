import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { writeRelease } from "../../src/protocol/read-write-scripts.js";
import { queueServers } from "../support/servers/queue-servers.js";
import {
  busy,
  CHANNEL,
  channelOf,
  FOUR,
  freed,
  held,
  LEASE_MS,
  LONG_AGO,
  MARK,
  NEVER,
  NO_LIMIT,
  next,
  ONE,
  QUEUE,
  reader,
  releaseOf,
  THREE,
  TWO,
  toldNext,
  toldTurn,
  WaitingWriters,
  writer,
} from "../support/worlds/waiting-writers.js";

const GIVEN_MS = 1_500;
const given = { ...freed(), given: true };

describe.each(queueServers)("the queue of a write lock on $name", ({ open }) => {
  let writers: WaitingWriters;
  beforeAll(async () => {
    writers = new WaitingWriters(await open());
  });
  beforeEach(() => writers.reset());
  afterAll(() => writers.server.close());

  describe("a release that looks", () => {
    test("gives the lock to the first for a while, tells the second that, and keeps readers out", async () => {
      await writers.wait(FOUR, ONE, TWO, THREE);
      expect(await writers.releases(writer(FOUR))).toEqual(given);
      expect(await writers.server.heard()).toEqual([toldTurn(ONE), toldNext(TWO)]);
      expect(await writers.stored()).toEqual(["mode", "write", next(ONE), "1"]);
      expect(await writers.queue()).toEqual([...MARK, TWO, "2", THREE, "3"]);
      const ttlMs = await writers.ttlOf("a");
      expect(ttlMs).toBeGreaterThan(0);
      expect(ttlMs).toBeLessThanOrEqual(GIVEN_MS);
      expect(await writers.reads(FOUR)).toMatchObject({ status: "busy", holder: next(ONE) });
    });

    test("gives it to a client that then takes it with its own lease, and to no other", async () => {
      await writers.wait(FOUR, ONE, TWO);
      await writers.releases(writer(FOUR));
      expect(await writers.asks(TWO)).toMatchObject(busy(next(ONE), true, 0, true));
      expect(await writers.asks(ONE)).toEqual(held(true));
      expect(await writers.stored()).toEqual(["mode", "write", writer(ONE), "1"]);
      expect(await writers.ttlOf("a")).toBeGreaterThan(LEASE_MS / 2);
    });

    test("leaves it to the fastest every other time, readers among them, and tells the first two", async () => {
      await writers.server.listen(CHANNEL, ...[ONE, TWO, THREE].map(channelOf));
      await writers.wait(FOUR, ONE, TWO, THREE);
      expect(await writers.releases(writer(FOUR))).toEqual({ ...freed(1), given: true });
      expect(await writers.server.heard()).toEqual([`${CHANNEL} 1`, toldTurn(ONE), toldNext(TWO)]);
      await writers.asks(ONE);
      expect(await writers.releases(writer(ONE), { way: "leaves" })).toEqual(freed(1));
      expect(await writers.server.heard()).toEqual([`${CHANNEL} 1`, toldTurn(TWO), toldNext(THREE)]);
      expect([await writers.fields(), await writers.queue()]).toEqual([[], [TWO, "2", THREE, "3"]]);
      expect(await writers.reads(FOUR)).toEqual({ status: "held" });
      expect(await writers.asks(TWO)).toMatchObject(busy(reader(FOUR), true, 0, false));
      await writers.stopsReading(FOUR);
      expect(await writers.server.heard()).toEqual([`${CHANNEL} 0`]);
      await writers.asks(TWO);
      expect(await writers.releases(writer(TWO))).toMatchObject({ given: true });
    });

    test("passes over clients that do not listen, where the server knows all who do", async () => {
      await writers.server.listen(channelOf(THREE));
      await writers.wait(FOUR, ONE, TWO, THREE);
      expect(await writers.releases(writer(FOUR))).toEqual(given);
      expect([await writers.fields(), await writers.queue()]).toEqual([[next(THREE), "mode"], MARK]);
      await writers.server.raw("DEL", "a", QUEUE);
      await writers.wait(FOUR, ONE, TWO);
      expect(await writers.releases(writer(FOUR), { countsAll: false })).toEqual(given);
      expect(await writers.fields()).toEqual([next(ONE), "mode"]);
    });

    test("after which the writer reads on tells the first two, and does not give the lock away", async () => {
      await writers.wait(FOUR, ONE, TWO, THREE);
      expect(await writers.reads(FOUR, writer(FOUR))).toEqual({ status: "held" });
      expect(await writers.releases(writer(FOUR), { way: "leaves" })).toEqual(freed());
      expect(await writers.server.heard()).toEqual([toldTurn(ONE), toldNext(TWO)]);
      expect(await writers.server.raw("HGET", "a", "mode")).toBe("read");
      expect([await writers.fields(), await writers.queue()]).toEqual([
        [reader(FOUR), "mode"],
        [ONE, "1", TWO, "2", THREE, "3"],
      ]);
      expect(await writers.asks(ONE)).toMatchObject(busy(reader(FOUR), true, 0, false));
    });

    test("that finds nothing of its holder, or comes too late, leaves the lock and the queue alone", async () => {
      await writers.wait(FOUR, ONE);
      expect(await writers.releases(writer(THREE))).toEqual({ status: "absent" });
      for (const holder of [writer(FOUR), next(ONE)])
        expect(await writers.releases(holder, { way: "leaves" }, LONG_AGO)).toEqual({ status: "late" });
      expect([await writers.fields(), await writers.queue(), await writers.server.heard()]).toEqual([
        [writer(FOUR), "mode"],
        [ONE, "1"],
        [],
      ]);
    });

    test("is one of several in a command, each with its own queue", async () => {
      await writers.wait(FOUR, ONE);
      await writers.takes(FOUR, "b");
      const locks = ["b", "a", "c"].map((key) => releaseOf(writer(FOUR), { key, way: "leaves" }));
      const answers = await writers.server.run(writeRelease, { notAfterMs: NO_LIMIT, locks });
      expect(answers).toEqual([freed(), given, { status: "absent" }]);
      expect([await writers.fields("a"), await writers.fields("b")]).toEqual([[next(ONE), "mode"], []]);
    });
  });

  test("a call to the first that waits frees nothing, and is heard by that one", async () => {
    await writers.wait(FOUR, ONE, TWO);
    expect(await writers.releases("", { way: "calls" })).toEqual({ status: "absent" });
    expect([await writers.fields(), await writers.queue()]).toEqual([
      [writer(FOUR), "mode"],
      [ONE, "1", TWO, "2"],
    ]);
    expect(await writers.server.heard()).toEqual([toldTurn(ONE)]);
  });

  test("a lock that falls sooner than before is told, as its client then calls the first", async () => {
    await writers.takes(FOUR);
    const kept = {
      ...releaseOf(writer(FOUR)),
      looks: undefined,
      keptCount: 1,
      keptMs: [1_000],
      ttlMs: 1_000,
    };
    const answers = await writers.server.run(writeRelease, { notAfterMs: NEVER, locks: [kept] });
    expect(answers).toEqual([{ status: "released", sooner: true }]);
    const again = await writers.server.run(writeRelease, { notAfterMs: NEVER, locks: [kept] });
    expect(again).toEqual([{ status: "released" }]);
  });
});
