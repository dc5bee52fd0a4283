import { beforeEach, describe, expect, test } from "vitest";
import { permitSetLease, permitSetTotal } from "../../src/protocol/later-count-scripts.js";
import { permitLeasesKey, savedPermitsKey } from "../../src/protocol/names.js";
import type { PermitWish } from "../../src/protocol/permit-calls.js";
import {
  permitAcquire,
  permitCancel,
  permitConfirm,
  permitRelease,
  permitRenew,
} from "../../src/protocol/semaphore-scripts.js";
import { ScriptServer } from "../support/servers/script-server.js";
import { newRequest, short } from "../support/worlds/count-requests.js";

const COUNT = "s";
const CHANNEL = "channel";
const LEASES = permitLeasesKey(COUNT);
const SAVED = savedPermitsKey(COUNT);
const UNKNOWN = -1;

const [ONE, TWO, THREE] = ["1", "2", "3"].map((digit) => digit.repeat(32)) as [string, string, string];

let server: ScriptServer;

beforeEach(() => {
  server = new ScriptServer(CHANNEL);
});

function wish(ids: readonly string[], options: Partial<PermitWish> = {}): PermitWish {
  const lot = { permits: ids.length, ids, leaseMs: 5_000 };
  return {
    count: COUNT,
    request: newRequest(),
    channel: CHANNEL,
    owner: "me",
    saveMs: 0,
    ...lot,
    ...options,
  };
}

const acquire = (...wanted: Parameters<typeof wish>) => server.run(permitAcquire, wish(...wanted));
const granted = (available: number, ttlMs: number, moreMs: number, leftMs: number) => ({
  status: "granted",
  available,
  ttlMs,
  moreMs,
  leftMs,
});
const GONE = { status: "gone" };

describe("permits that are granted", () => {
  beforeEach(() => server.raw("SET", COUNT, 3));

  test("come with what is left, the TTL of the semaphore, and when the next lease ends", async () => {
    expect(acquire([ONE])).toEqual(granted(2, UNKNOWN, 5_000, UNKNOWN));
    await server.clock.advance(1_000);
    expect(acquire([TWO])).toEqual(granted(1, UNKNOWN, 4_000, UNKNOWN));
    await server.clock.advance(4_000);
    server.raw("PEXPIRE", COUNT, 60_000);
    expect(acquire([THREE])).toEqual(granted(1, 60_000, 1_000, UNKNOWN));
    expect(server.raw("PTTL", LEASES)).toBe(60_000);
  });

  test("say nothing of an end when all are permanent", () => {
    expect(acquire([ONE], { leaseMs: 0 })).toEqual(granted(2, UNKNOWN, UNKNOWN, UNKNOWN));
  });

  test("are found by a repeat, with what is left of the shortest of their leases", async () => {
    const again = wish([ONE, TWO]);
    server.run(permitAcquire, again);
    server.run(permitSetLease, { ...again, request: newRequest(), ids: [TWO], leaseMs: 3_000 });
    await server.clock.advance(1_000);
    expect(server.run(permitAcquire, again)).toEqual(granted(1, UNKNOWN, 2_000, 2_000));
    await server.clock.advance(2_000);
    expect(server.run(permitAcquire, again)).toEqual(GONE);
    server.raw("DEL", LEASES);
    expect(server.run(permitAcquire, again)).toEqual(GONE);
  });

  test("have all of their lease left for a repeat when they are permanent", () => {
    const again = wish([ONE], { leaseMs: 0 });
    server.run(permitAcquire, again);
    expect(server.run(permitAcquire, again)).toEqual(granted(2, UNKNOWN, UNKNOWN, UNKNOWN));
  });

  test("end the saving for their owner, for a second at least", async () => {
    server.raw("SET", SAVED, `me:2:${server.clock.wallMs() - 300}`);
    acquire([ONE]);
    expect(server.raw("GET", SAVED)).toBe(`-:0:${server.clock.wallMs()}`);
    expect(server.raw("PTTL", SAVED)).toBe(1_000);
    server.raw("SET", SAVED, `me:2:${server.clock.wallMs() - 3_000}`);
    acquire([TWO]);
    expect(server.raw("PTTL", SAVED)).toBe(3_000);
    expect(await server.heard()).toEqual([]);
  });
});

describe("one who wants more permits than there are", () => {
  test("is told when the next lease ends, or that nobody knows", () => {
    expect(acquire([ONE])).toEqual(short(0, UNKNOWN, 0, 0));
    server.raw("SET", COUNT, 2);
    acquire([ONE], { leaseMs: 0 });
    expect(acquire([TWO, THREE])).toEqual(short(1, UNKNOWN, 0, 1));
    acquire([TWO]);
    expect(acquire([THREE])).toEqual(short(0, 5_000, 0, 1));
  });

  test("hears when a lease or the saving for another ends, whichever is first", () => {
    server.raw("SET", COUNT, 2);
    server.raw("SET", SAVED, `another:2:${server.clock.wallMs()}`, "PX", 3_000);
    expect(acquire([TWO])).toEqual(short(2, 3_000, 0, 1));
    server.raw("ZADD", LEASES, server.clock.wallMs() + 5_000, "out");
    expect(acquire([TWO])).toEqual(short(2, 3_000, 0, 1));
    server.raw("ZADD", LEASES, server.clock.wallMs() + 2_000, "out");
    expect(acquire([TWO])).toEqual(short(2, 2_000, 0, 1));
  });

  test("is told of the leases only, and not of its own saving", () => {
    server.raw("SET", COUNT, 2);
    acquire([ONE]);
    expect(acquire([TWO, THREE], { saveMs: 3_000 })).toEqual(short(1, 5_000, 1, 1));
    expect(server.raw("GET", SAVED)).toBe(`me:2:${server.clock.wallMs()}`);
    expect(acquire([TWO, THREE], { saveMs: 3_000 })).toEqual(short(1, 5_000, 1, 1));
  });

  test("has none saved up when there will never be as many", () => {
    server.raw("SET", COUNT, 2);
    expect(acquire([ONE, TWO, THREE], { saveMs: 3_000 })).toEqual(short(2, UNKNOWN, 0, 1));
    expect(server.raw("EXISTS", SAVED)).toBe(0);
  });

  test("tells the others of what is there when it has none saved up any more", async () => {
    server.raw("SET", COUNT, 1);
    acquire([ONE, TWO]);
    expect(await server.heard()).toEqual([]);
    server.raw("SET", SAVED, `me:2:${server.clock.wallMs()}`, "PX", 3_000);
    expect(acquire([ONE, TWO])).toEqual(short(1, UNKNOWN, 0, 1));
    expect(await server.heard()).toEqual(["1"]);
  });
});

describe("a wish for permits that is taken back", () => {
  test("tells the others of what was saved up for it", async () => {
    server.raw("SET", COUNT, 2);
    server.run(permitCancel, wish([ONE]));
    expect(await server.heard()).toEqual([]);
    server.raw("SET", SAVED, `me:2:${server.clock.wallMs()}`, "PX", 3_000);
    server.run(permitCancel, wish([ONE]));
    expect(await server.heard()).toEqual(["2"]);
  });
});

describe("permits that are confirmed", () => {
  const confirm = (...ids: readonly string[]) =>
    server.run(permitConfirm, [{ key: COUNT, holders: ids, slots: [] }])[0];

  beforeEach(() => {
    server.raw("SET", COUNT, 3);
    acquire([ONE, TWO]);
  });

  test.each([false, true])("are left as they are (the server is full: %s)", (isFull) => {
    server.full(isFull);
    const before = server.raw("ZRANGE", LEASES, 0, -1, "WITHSCORES");
    expect(confirm(ONE, TWO)).toEqual({ status: "renewed" });
    expect(server.raw("ZRANGE", LEASES, 0, -1, "WITHSCORES")).toEqual(before);
  });

  test("are lost when one is unknown or its lease has ended, or all are", async () => {
    expect(confirm(ONE, THREE)).toEqual({ status: "lost" });
    await server.clock.advance(5_000);
    expect(confirm(ONE)).toEqual({ status: "lost" });
    server.raw("DEL", LEASES);
    expect(confirm(ONE)).toEqual({ status: "lost" });
  });

  test("are answered for each semaphore by itself", () => {
    const ask = (key: string) => ({ key, holders: [ONE], slots: [] });
    const answers = server.run(permitConfirm, [ask(COUNT), ask("another")]);
    expect(answers).toEqual([{ status: "renewed" }, { status: "lost" }]);
  });
});

describe("leases that are set anew", () => {
  const renew = (leaseMs: number) =>
    server.run(permitRenew, [{ key: COUNT, holder: ONE, leaseMs, holdMs: [] }]);
  const setLease = (leaseMs: number) => server.run(permitSetLease, { ...wish([ONE]), leaseMs });
  const leftMs = () =>
    Number((server.raw("ZRANGE", LEASES, 0, 0, "WITHSCORES") as readonly string[])[1]) -
    server.clock.wallMs();

  beforeEach(() => {
    server.raw("SET", COUNT, 3);
    acquire([ONE]);
  });

  test("by a renewal never end sooner than they did", () => {
    expect(renew(1_000)).toEqual([{ status: "renewed" }]);
    expect(leftMs()).toBe(5_000);
    expect(renew(9_000)).toEqual([{ status: "renewed" }]);
    expect(leftMs()).toBe(9_000);
  });

  test("end later on a full server as well", () => {
    server.full(true);
    expect(renew(9_000)).toEqual([{ status: "renewed" }]);
    expect(setLease(8_000)).toEqual({ status: "updated" });
    expect(leftMs()).toBe(8_000);
  });

  test("give back those of others that have ended, and so does a release", async () => {
    acquire([TWO], { leaseMs: 1_000 });
    await server.clock.advance(1_000);
    setLease(8_000);
    expect(server.raw("GET", COUNT)).toBe("2");
    acquire([TWO], { leaseMs: 1_000 });
    await server.clock.advance(1_000);
    expect(server.run(permitRelease, wish([THREE]))).toEqual({ status: "absent", absent: 1 });
    expect(server.raw("GET", COUNT)).toBe("2");
  });
});

describe("the number of all permits", () => {
  const SET = { status: "set" };
  const setTotal = (total: number) => server.run(permitSetTotal, { ...wish([]), total });

  test("is set, also to none, and told where it changes what there is", async () => {
    expect([setTotal(0), server.raw("GET", COUNT)]).toEqual([SET, "0"]);
    expect([setTotal(3), server.raw("GET", COUNT)]).toEqual([SET, "3"]);
    acquire([ONE]);
    expect(await server.heard()).toEqual(["3"]);
    expect([setTotal(3), server.raw("GET", COUNT)]).toEqual([SET, "2"]);
    expect(await server.heard()).toEqual([]);
    expect([setTotal(5), server.raw("GET", COUNT)]).toEqual([SET, "4"]);
    expect(await server.heard()).toEqual(["4"]);
  });
});
