import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { writeForceUnlock } from "../../src/protocol/force-unlock-scripts.js";
import { readHoldKey, waitingKey } from "../../src/protocol/names.js";
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
  next,
  ONE,
  QUEUE,
  reader,
  THREE,
  TWO,
  toldTurn,
  WaitingWriters,
  writer,
} from "../support/worlds/waiting-writers.js";

const QUEUE_MS = 600_000;
const JVM = "3f0c5f9e-6f1d-4a53-9b0e-0c1d2e3f4a5b:57:write";

describe.each(queueServers)("the queue of a write lock on $name", ({ open }) => {
  let writers: WaitingWriters;
  beforeAll(async () => {
    writers = new WaitingWriters(await open());
  });
  beforeEach(() => writers.reset());
  afterAll(() => writers.server.close());

  describe("a writer that waits", () => {
    test("stands behind those that came before, and the queue lives ten minutes from each question on", async () => {
      await writers.server.raw("HSET", "a", "mode", "write", JVM, 1);
      await writers.server.raw("PEXPIRE", "a", LEASE_MS);
      for (const [at, client] of [ONE, TWO, THREE, FOUR].entries())
        expect(await writers.asks(client)).toMatchObject(busy(JVM, true, Math.min(at, 2), false));
      await writers.server.raw("PEXPIRE", QUEUE, 1_000);
      expect(await writers.asks(TWO, { nth: 2 })).toMatchObject(busy(JVM, true, 1, false));
      expect(await writers.queue()).toEqual([ONE, "1", TWO, "2", THREE, "3", FOUR, "4"]);
      expect(await writers.ttlOf(QUEUE)).toBeGreaterThan(QUEUE_MS / 2);
      // What waits for a lock of another kind under this name stands elsewhere.
      expect(await writers.server.raw("EXISTS", waitingKey("a"))).toBe(0);
    });

    test("has the holder's client told to look, which may wait for it as well", async () => {
      await writers.takes(FOUR);
      expect(await writers.asks(ONE)).toMatchObject(busy(writer(FOUR), true, 0, false));
      expect(await writers.asks(TWO)).toMatchObject(busy(writer(FOUR), true, 1, false));
      expect(await writers.server.heard()).toEqual([`${channelOf(FOUR)} look`]);
    });

    test("is not told by readers, even if their client stands in the queue", async () => {
      await writers.reads(FOUR);
      await writers.reads(THREE);
      expect(await writers.asks(ONE)).toMatchObject({ ...busy(reader(FOUR), true, 0, false) });
      expect(await writers.asks(FOUR)).toMatchObject({ ...busy(reader(FOUR), true, 1, false) });
      expect(await writers.asks(TWO)).toMatchObject(busy(reader(FOUR), true, 2, false));
      expect(await writers.server.heard()).toEqual([]);
    });

    test("behind a reader of its own client stands in the queue: that does not tell it", async () => {
      await writers.reads(ONE);
      expect(await writers.asks(ONE)).toMatchObject(busy(reader(ONE), true, 0, false));
      expect(await writers.queue()).toEqual([ONE, "1"]);
    });

    test("behind a writer of its own client stands there only beside others", async () => {
      await writers.takes(ONE);
      expect(await writers.asks(ONE, { nth: 2 })).toMatchObject(busy(writer(ONE), false, 0, false));
      expect(await writers.queue()).toEqual([]);
      await writers.asks(TWO);
      expect(await writers.asks(ONE, { nth: 2 })).toMatchObject(busy(writer(ONE), true, 1, true));
      expect(await writers.asks(TWO)).toMatchObject(busy(writer(ONE), true, 0, true));
    });

    test("that finds the lock free takes it, and stands there on only while others wait", async () => {
      await writers.wait(FOUR, ONE, TWO);
      await writers.server.raw("DEL", "a");
      expect(await writers.asks(ONE)).toEqual(held(true));
      expect(await writers.queue()).toEqual([ONE, "-1", TWO, "2"]);
      await writers.server.raw("DEL", "a");
      expect(await writers.asks(TWO, { waitsOn: true })).toEqual(held(false));
      expect(await writers.queue()).toEqual([ONE, "-1"]);
    });

    test("with more calls is the last when it has the lock", async () => {
      await writers.wait(FOUR, ONE, TWO);
      await writers.server.raw("DEL", "a");
      expect(await writers.asks(ONE, { waitsOn: true })).toEqual(held(true, true));
      expect(await writers.queue()).toEqual([TWO, "2", ONE, "3"]);
    });

    test("whose question comes too late takes no place, and not what was given to it", async () => {
      await writers.wait(FOUR, ONE);
      await writers.releases(writer(FOUR), { way: "leaves" });
      expect(await writers.asks(ONE, { notAfterMs: LONG_AGO })).toEqual({ status: "late" });
      expect([await writers.fields(), await writers.queue()]).toEqual([[next(ONE), "mode"], MARK]);
    });
  });

  describe("a client that waits no more", () => {
    const leave = (client: string) => writers.releases(next(client), { way: "leaves" });

    test("frees what was given to it, and tells the next", async () => {
      await writers.wait(FOUR, ONE, TWO);
      await writers.releases(writer(FOUR));
      await writers.server.heard();
      expect(await leave(ONE)).toEqual(freed());
      expect([await writers.fields(), await writers.queue()]).toEqual([[], [TWO, "2"]]);
      expect(await writers.server.heard()).toEqual([toldTurn(TWO)]);
    });

    test("has the new first ask when it was the first itself", async () => {
      await writers.wait(FOUR, ONE, TWO, THREE);
      await leave(TWO);
      expect([await writers.queue(), await writers.server.heard()]).toEqual([[ONE, "1", THREE, "3"], []]);
      await leave(ONE);
      expect([await writers.queue(), await writers.server.heard()]).toEqual([
        [THREE, "3"],
        [toldTurn(THREE)],
      ]);
    });

    test("stands there on if it writes, as others rely on its look, and not if it reads", async () => {
      await writers.wait(FOUR, ONE, TWO);
      await writers.asks(FOUR, { nth: 2 });
      expect(await leave(FOUR)).toEqual({ status: "absent", stands: true });
      expect(await writers.queue()).toEqual([FOUR, "-1", ONE, "1", TWO, "2"]);
      await writers.reads(FOUR, writer(FOUR));
      await writers.releases(writer(FOUR), { way: "stays" });
      await writers.asks(FOUR, { nth: 2 });
      expect(await leave(FOUR)).toEqual({ status: "absent" });
      expect(await writers.queue()).toEqual([ONE, "1", TWO, "2"]);
    });
  });

  test("has its first told to ask when the lock is freed by force", async () => {
    await writers.server.listen(CHANNEL, channelOf(ONE), channelOf(TWO));
    await writers.wait(FOUR, ONE, TWO);
    await writers.reads(FOUR, writer(FOUR));
    const seen = { mode: "write", [writer(FOUR)]: "1", [reader(FOUR)]: "1" };
    const answer = await writers.server.run(writeForceUnlock, {
      key: "a",
      notAfterMs: NEVER,
      channel: CHANNEL,
      seen,
    });
    expect(answer).toEqual({ status: "released" });
    expect([
      await writers.fields(),
      await writers.server.raw("EXISTS", readHoldKey("a", reader(FOUR), 1)),
    ]).toEqual([[], 0]);
    expect(await writers.queue()).toEqual([ONE, "1", TWO, "2"]);
    expect(await writers.server.heard()).toEqual([`${CHANNEL} 1`, toldTurn(ONE)]);
  });

  test("is as one without anybody where its key is of another type", async () => {
    await writers.server.raw("SET", QUEUE, "text");
    await writers.takes(FOUR);
    expect(await writers.asks(ONE)).toMatchObject(busy(writer(FOUR), false, 0, false));
    expect(await writers.releases(writer(FOUR))).toEqual(freed());
    expect(await writers.asks(ONE)).toEqual(held(false));
    expect(await writers.server.raw("GET", QUEUE)).toBe("text");
  });

  test("is not used by the lock of another kind that has its name: nobody would be told", async () => {
    await writers.server.raw("HSET", "a", `${FOUR}:1`, 1);
    await writers.server.raw("PEXPIRE", "a", LEASE_MS);
    await writers.server.raw("ZADD", QUEUE, -1, FOUR);
    expect(await writers.asks(ONE)).toMatchObject(busy(`${FOUR}:1`, true, 0, false));
    expect(await writers.server.heard()).toEqual([]);
  });
});
