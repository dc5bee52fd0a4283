import { countLook, latchCountDown, type RepeatableRequest } from "../../../src/protocol/count-scripts.js";
import {
  countDelete,
  countTrySet,
  permitLeave,
  permitLook,
  permitSetLease,
  permitSetTotal,
  semaphoreDrain,
  semaphoreResize,
} from "../../../src/protocol/later-count-scripts.js";
import {
  permitLeasesKey,
  presenceClientKey,
  presenceClientsKey,
  requestsKey,
  savedPermitsKey,
  waitingKey,
} from "../../../src/protocol/names.js";
import { presenceLeave, presenceList, presenceTell } from "../../../src/protocol/presence-scripts.js";
import {
  permitAcquire,
  permitCancel,
  permitConfirm,
  permitRelease,
  permitRenew,
  semaphoreAcquire,
  semaphoreAdd,
  semaphoreCancel,
} from "../../../src/protocol/semaphore-scripts.js";
import type { ScriptName } from "../all-scripts.js";
import { inMs, type Scenario, scenario } from "./scenario.js";

const COUNT = "permits";
const CLIENT = "c0000000-0000-8001-8000-000000000000";
const OWNER = `${CLIENT}:1`;
const [REQUESTS, SAVED, LEASES, QUEUE] = [
  requestsKey(COUNT, CLIENT),
  savedPermitsKey(COUNT),
  permitLeasesKey(COUNT),
  waitingKey(COUNT),
];
const channel = "channel";
/** The text of 16 bytes, and its digits. */
const [ONE, TWO, OLD] = ["1111111111111111", "2222222222222222", "0000000000000000"];
const digits = (id: string) => Buffer.from(id).toString("hex");

const request: RepeatableRequest = {
  requests: REQUESTS,
  id: "7",
  notAfterMs: Number.MAX_SAFE_INTEGER,
  memoryMs: 60_000,
  settled: ["5", "6"],
};
const asked = { count: COUNT, request, channel };
const wish = {
  ...asked,
  owner: OWNER,
  saveMs: 0,
  permits: 2,
  ids: [digits(ONE), digits(TWO)],
  leaseMs: 60_000,
};

type Found = Scenario["found"];
const five: Found = [["SET", COUNT, 5]];
/** The answer to a request that the next one makes Redis forget. */
const settled: Found = [
  ["HSET", REQUESTS, "5", "added:1"],
  ["PEXPIRE", REQUESTS, 60_000],
];
const answered = (answer: string): Found => [
  ["HSET", REQUESTS, "7", answer],
  ["PEXPIRE", REQUESTS, 60_000],
];
const leased: Found = [
  ["ZADD", LEASES, inMs(50_000), ONE],
  ["ZADD", LEASES, inMs(50_000), TWO],
];
const expired: Found = [["ZADD", LEASES, inMs(-1), OLD]];
const saved = (owner: string): Found => [["SET", SAVED, `${owner}:2:1700000000000`, "PX", 30_000]];

/** Two lines of this client, and one of another, of which the first was told its turn too long ago. */
const OTHER = "d0000000-0000-8001-8000-000000000000";
const [LINE, LATE, LAST] = [`${CLIENT}:2`, `${CLIENT}:1`, `${OTHER}:1`];
const queue: Found = [
  ["ZADD", QUEUE, 1, LATE, 2, LINE, 3, LAST, -1, `told:${LATE}`],
  ["PEXPIRE", QUEUE, 600_000],
];
const looks = { countsAll: false };
const queued = { line: LINE, way: "stands", countsAll: false } as const;
const newcomer = { ...queued, line: `${CLIENT}:3` };

const group = "default";
const teller = { group, clientId: CLIENT };
const [CLIENTS, TOLD] = [presenceClientsKey(group), presenceClientKey(group, CLIENT)];
const tell = { ...teller, notAfterMs: Number.MAX_SAFE_INTEGER, beat: 3, everyMs: 5_000, leastMs: 5_000 };
const told: Found = [
  ["HSET", TOLD, "v", 1, "at", 1, "every", 5_000, "beat", 2, "meta", "{}", "live", "{}", "liveAt", 1],
  ["PEXPIRE", TOLD, 60_000],
  ["ZADD", CLIENTS, inMs(9_000), CLIENT],
  ["PEXPIRE", CLIENTS, 60_000],
];
const list = { group, next: { fromScore: "-inf", skip: 0 }, limit: 10, roomBytes: 1_000, mostBytes: 1_000 };

export const countScenarios = {
  "count-try-set": [
    scenario("nothing yet", countTrySet, { ...asked, value: 5, ttlMs: 0, message: "" }, settled),
    scenario("with a TTL and a message", countTrySet, { ...asked, value: 5, ttlMs: 60_000, message: "5" }),
    scenario("set before", countTrySet, { ...asked, value: 5, ttlMs: 0, message: "" }, five),
  ],
  "count-delete": [
    scenario("a latch", countDelete, { ...asked, others: [], message: "0" }, [...five, ...settled]),
    scenario("a semaphore", countDelete, { ...asked, others: [LEASES, SAVED], message: "" }, [
      ...five,
      ...leased,
    ]),
    scenario("nothing", countDelete, { ...asked, others: [], message: "0" }),
  ],
  "count-look": [scenario("a count", countLook, { count: COUNT }, five)],
  "latch-count-down": [
    scenario("by one", latchCountDown, asked, [...five, ...settled]),
    scenario("the last one", latchCountDown, asked, [["SET", COUNT, 1]]),
    scenario("a repeat", latchCountDown, asked, [...five, ...answered("counted:5")]),
  ],
  "semaphore-acquire": [
    scenario("permits enough", semaphoreAcquire, wish, [...five, ...settled]),
    scenario("permits saved up", semaphoreAcquire, wish, [...five, ...saved(OWNER)]),
    scenario("too few", semaphoreAcquire, { ...wish, saveMs: 3_000 }, [["SET", COUNT, 1]]),
    scenario("too few, saved no more", semaphoreAcquire, wish, [["SET", COUNT, 1], ...saved(OWNER)]),
    scenario("saved for another", semaphoreAcquire, wish, [["SET", COUNT, 3], ...saved("another:1")]),
    scenario("its turn", semaphoreAcquire, { ...wish, queued }, [...five, ...queue]),
    scenario("too few, in the queue", semaphoreAcquire, { ...wish, queued: newcomer }, [
      ["SET", COUNT, 1],
      ...queue,
    ]),
    scenario("a repeat", semaphoreAcquire, wish, [...five, ...answered("granted:5")]),
  ],
  "semaphore-add": [
    scenario("given back", semaphoreAdd, { ...asked, permits: 2, mustExist: false, most: 9 }, [
      ...five,
      ...settled,
    ]),
    scenario("made", semaphoreAdd, { ...asked, permits: 2, mustExist: false, most: 9 }),
    scenario("absent", semaphoreAdd, { ...asked, permits: 2, mustExist: true, most: 9 }),
    scenario("to those that wait", semaphoreAdd, { ...asked, permits: 2, mustExist: false, most: 9, looks }, [
      ...five,
      ...queue,
    ]),
    scenario("too many", semaphoreAdd, { ...asked, permits: 2, mustExist: true, most: 6 }, five),
  ],
  "semaphore-cancel": [
    scenario("granted", semaphoreCancel, wish, [...five, ...answered("granted:5"), ...saved(OWNER)]),
    scenario("not granted", semaphoreCancel, wish, [...five, ...settled]),
  ],
  "semaphore-drain": [
    scenario("five permits", semaphoreDrain, asked, [...five, ...settled]),
    scenario("none", semaphoreDrain, asked, [["SET", COUNT, 0]]),
  ],
  "permit-acquire": [
    scenario("permits enough", permitAcquire, wish, [...five, ...settled]),
    scenario("of a semaphore with a TTL", permitAcquire, wish, [["SET", COUNT, 5, "PX", 50_000]]),
    {
      ...scenario("with those whose lease is over", permitAcquire, wish, [["SET", COUNT, 1], ...expired]),
      between: ["2"],
    },
    scenario("permits saved up", permitAcquire, wish, [...five, ...saved(OWNER)]),
    scenario("too few", permitAcquire, { ...wish, saveMs: 3_000 }, [["SET", COUNT, 1], ...leased]),
    scenario("too few, saved no more", permitAcquire, wish, [["SET", COUNT, 1], ...saved(OWNER)]),
    scenario("saved for another", permitAcquire, wish, [["SET", COUNT, 3], ...saved("another:1")]),
    scenario("its turn", permitAcquire, { ...wish, queued }, [...five, ...queue]),
    scenario("too few, in the queue", permitAcquire, { ...wish, queued: newcomer }, [
      ["SET", COUNT, 1],
      ...queue,
    ]),
    scenario("a repeat", permitAcquire, wish, [...five, ...leased, ...answered("granted:5")]),
  ],
  "permit-cancel": [
    scenario("granted", permitCancel, wish, [...five, ...leased, ...answered("granted:5"), ...saved(OWNER)]),
    scenario("not granted", permitCancel, wish, [...five, ...settled]),
  ],
  "permit-release": [
    scenario("given back", permitRelease, wish, [...five, ...leased, ...settled]),
    {
      ...scenario("with those whose lease is over", permitRelease, wish, [...five, ...leased, ...expired]),
      between: ["6"],
    },
    scenario("to those that wait", permitRelease, { ...wish, looks }, [...five, ...leased, ...queue]),
    scenario("of a deleted semaphore", permitRelease, wish, leased),
    scenario("one is gone", permitRelease, wish, [...five, ["ZADD", LEASES, inMs(50_000), ONE]]),
  ],
  "permit-leave": [
    scenario("the first", permitLeave, { ...asked, ...queued }, [...five, ...queue]),
    scenario("which does not wait", permitLeave, { ...asked, ...newcomer }, queue),
  ],
  "permit-set-lease": [
    scenario("of two", permitSetLease, wish, [...five, ...leased, ...settled]),
    scenario("one is gone", permitSetLease, wish, [...five, ...expired]),
  ],
  "permit-set-total": [
    scenario("more", permitSetTotal, { ...asked, total: 9 }, [...five, ...leased, ...settled]),
    scenario("fewer", permitSetTotal, { ...asked, total: 3 }, five),
    scenario("made", permitSetTotal, { ...asked, total: 9 }),
    scenario("as many as before", permitSetTotal, { ...asked, total: 5 }, five),
  ],
  "semaphore-resize": [
    scenario("as it was seen", semaphoreResize, { ...asked, seen: 7, total: 9 }, [
      ...five,
      ...leased,
      ...settled,
    ]),
    scenario("changed", semaphoreResize, { ...asked, seen: 8, total: 9 }, [...five, ...leased]),
    scenario("absent", semaphoreResize, { ...asked, seen: 8, total: 9 }),
  ],
  "permit-look": [
    scenario("one", permitLook, { count: COUNT, channel, id: digits(ONE) }, [...five, ...leased, ...expired]),
  ],
  "permit-renew": [
    scenario(
      "of two",
      permitRenew,
      [{ key: COUNT, holder: digits(ONE) + digits(TWO), leaseMs: 60_000, holdMs: [] }],
      leased,
    ),
  ],
  "permit-confirm": [
    scenario(
      "of two",
      permitConfirm,
      [{ key: COUNT, holders: [digits(ONE), digits(TWO)], slots: [] }],
      leased,
    ),
  ],
  "presence-tell": [
    scenario("at first", presenceTell, { ...tell, keepMs: 1_000, meta: "{}", live: "{}" }),
    scenario("again", presenceTell, { ...tell, keepMs: 100_000, meta: "", live: "{}" }, told),
    scenario("beside clients that are gone", presenceTell, { ...tell, keepMs: 1_000, meta: "", live: "" }, [
      ...told,
      ["ZADD", CLIENTS, inMs(-5_000), "gone"],
    ]),
  ],
  "presence-leave": [scenario("what was told", presenceLeave, teller, told)],
  "presence-list": [
    scenario("one client", presenceList, { ...list, page: [{ clientId: CLIENT, liveAt: "" }] }, told),
  ],
} satisfies Partial<Record<ScriptName, readonly Scenario[]>>;
