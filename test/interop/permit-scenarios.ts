import { permitLeasesKey, semaphoreChannel } from "../../src/protocol/names.js";
import {
  actors,
  CHANGES,
  HOUR_MS,
  holds,
  NAME,
  SHORT_MS,
  type SynchronizerScenario,
  told,
  untold,
} from "./synchronizer-steps.js";

const { a, b } = actors("permit-expirable-semaphore");
const GONE = "Permits of a semaphore whose key is gone";
const RETURNS_SOONER = "Shortening the lease of a permit";
const counts = [b("availablePermits"), b("acquiredPermits"), b("getPermits")];

export const permitScenarios: readonly SynchronizerScenario[] = [
  {
    title: "permits: set once, and deleted",
    steps: [
      ...counts,
      a("trySetPermits", { permits: 3 }),
      b("trySetPermits", { permits: 5 }),
      a("acquire", { leaseMs: HOUR_MS }),
      ...counts,
      a("delete"),
      b("delete"),
      a("tryRelease", { permitIds: "<1>" }),
    ],
  },
  {
    title: "permits: permanent",
    steps: [
      a("trySetPermits", { permits: 2 }),
      a("acquire"),
      b("tryAcquire"),
      a("tryAcquire"),
      ...counts,
      a("release", { permitIds: "<1>" }),
      a("release", { permitIds: "<1>" }),
      b("tryRelease", { permitIds: "<2>" }),
      b("tryRelease", { permitIds: "<2>" }),
    ],
  },
  {
    title: "permits: with leases",
    steps: [
      a("trySetPermits", { permits: 2 }),
      a("acquire", { leaseMs: HOUR_MS }),
      b("tryAcquire", { leaseMs: HOUR_MS / 2 }),
      a("tryAcquire", { leaseMs: HOUR_MS }),
      ...counts,
      b("release", { permitIds: "<2>" }),
      a("release", { permitIds: "<1>" }),
    ],
  },
  {
    title: "permits: several at once",
    steps: [
      a("trySetPermits", { permits: 3 }),
      a("acquire", { permits: 2, leaseMs: HOUR_MS }),
      b("tryAcquire", { permits: 2 }),
      a("release", { permitIds: ["<1>", "<2>"] }, told(3)),
      b("acquire", { permits: 3 }),
      b("tryRelease", { permitIds: ["<3>", "<5>"] }),
      b("release", { permitIds: ["<4>"] }, told(3)),
    ],
  },
  {
    title: "permits: released by the other",
    steps: [
      a("trySetPermits"),
      a("acquire", { leaseMs: HOUR_MS }),
      b("release", { permitIds: "<1>" }),
      b("acquire"),
      a("tryRelease", { permitIds: ["<2>"] }),
      a("release", { permitIds: ["<2>"] }),
    ],
  },
  {
    title: "permits: released with one that is not held",
    since: "3.41.0",
    steps: [
      a("trySetPermits", { permits: 2 }),
      a("acquire", { permits: 2 }),
      a("release", { permitIds: "<1>" }),
      b("tryRelease", { permitIds: ["<1>", "<2>"] }),
      b("release", { permitIds: ["<1>", "<2>"] }),
      b("release", { permitIds: "<2>" }),
    ],
  },
  {
    title: "permits: the total set",
    steps: [
      a("setPermits", { permits: 2 }),
      b("acquire", { permits: 2 }),
      a("setPermits", { permits: 3 }, told(1)),
      a("setPermits", { permits: 3 }),
      a("setPermits", { permits: 1 }, untold),
      ...counts,
      b("release", { permitIds: "<1>" }, untold),
      b("release", { permitIds: "<2>" }),
    ],
  },
  {
    title: "permits: added and withdrawn",
    steps: [
      a("addPermits", { permits: 2 }),
      b("acquire"),
      a("addPermits", { permits: 3 }, told(4)),
      a("addPermits", { permits: -5 }),
      ...counts,
      b("release", { permitIds: "<1>" }, untold),
    ],
  },
  {
    title: "permits: leases told and set",
    since: "3.41.0",
    steps: [
      a("trySetPermits", { permits: 2 }),
      a("acquire", { leaseMs: HOUR_MS }),
      a("acquire"),
      b("getLeaseTime", { permitIds: "<1>" }),
      b("getLeaseTime", { permitIds: "<2>" }),
      b(
        "updateLeaseTime",
        { permitIds: "<1>", leaseMs: HOUR_MS / 2 },
        {
          row: RETURNS_SOONER,
          messages: [`1 -> ${semaphoreChannel(NAME)}`],
        },
      ),
      b("updateLeaseTime", { permitIds: "<2>", leaseMs: HOUR_MS }),
      a("getLeaseTime", { permitIds: "<2>" }),
      a("release", { permitIds: "<1>" }),
      b("getLeaseTime", { permitIds: "<1>" }),
      b("updateLeaseTime", { permitIds: "<1>", leaseMs: HOUR_MS }),
    ],
  },
  {
    title: "permits: leases that have ended, seen by a question",
    steps: [
      a("trySetPermits", { permits: 2 }),
      a("acquire", { permits: 2, leaseMs: HOUR_MS }),
      a("leases end"),
      b("availablePermits"),
      b("acquiredPermits"),
    ],
  },
  ...(["acquiredPermits", "getPermits"] as const).map((question) => ({
    title: `permits: leases that have ended, seen by ${question}`,
    steps: [
      a("trySetPermits", { permits: 2 }),
      a("acquire", { permits: 2, leaseMs: HOUR_MS }),
      a("leases end"),
      b(question),
    ],
  })),
  {
    title: "permits: leases that have ended, seen by who acquires",
    steps: [
      a("trySetPermits"),
      a("acquire", { leaseMs: HOUR_MS }),
      a("leases end"),
      b("acquire"),
      b("release", { permitIds: "<2>" }),
    ],
  },
  {
    title: "permits: of a semaphore with an end",
    steps: [
      a("trySetPermits", { permits: 2 }),
      a("is to end", { ttlMs: HOUR_MS }),
      a("acquire", { leaseMs: HOUR_MS }),
      b("acquire"),
      b("release", { permitIds: "<2>" }),
      a("setPermits", { permits: 3 }, told(2)),
      a("release", { permitIds: ["<1>"] }, told(3)),
    ],
  },
  {
    title: "permits: of a semaphore with an end, and added",
    steps: [
      a("trySetPermits"),
      a("is to end", { ttlMs: HOUR_MS }),
      b("acquire"),
      a(
        "addPermits",
        { permits: 2 },
        {
          row: CHANGES,
          keys: {
            ...holds(2, HOUR_MS),
            [permitLeasesKey(NAME)]: { type: "zset", value: { "<1>": "permanent" }, ttlMs: HOUR_MS },
          },
        },
      ),
    ],
  },
  {
    title: "permits: leases that have ended, seen by a new lease",
    since: "3.41.0",
    steps: [
      a("trySetPermits", { permits: 2 }),
      a("acquire", { permits: 2, leaseMs: HOUR_MS }),
      a("leases end"),
      b("updateLeaseTime", { permitIds: "<1>", leaseMs: HOUR_MS }),
      b("getLeaseTime", { permitIds: "<2>" }),
    ],
  },
  {
    title: "permits: released after its lease has ended",
    steps: [
      a("trySetPermits"),
      a("acquire", { leaseMs: HOUR_MS }),
      a("leases end"),
      a("tryRelease", { permitIds: "<1>" }),
      a("tryRelease", { permitIds: "<1>" }),
    ],
  },
  {
    title: "permits: several released after their leases have ended",
    since: "3.41.0",
    steps: [
      a("trySetPermits", { permits: 2 }),
      a("acquire", { permits: 2, leaseMs: HOUR_MS }),
      a("leases end"),
      a(
        "tryRelease",
        { permitIds: ["<1>", "<2>"] },
        { ...told(2), row: "Releasing several ids, if the lease of one has ended", keys: holds(2) },
      ),
    ],
  },
  {
    title: "permits: released when the semaphore is gone",
    steps: [
      a("trySetPermits"),
      a("acquire"),
      a("is gone"),
      a("release", { permitIds: "<1>" }, { row: GONE, messages: [], keys: {} }),
    ],
  },
  {
    title: "permits: leases that have ended when the semaphore is gone",
    steps: [
      a("trySetPermits"),
      a("acquire", { leaseMs: HOUR_MS }),
      a("leases end"),
      a("is gone"),
      b("availablePermits", {}, { row: GONE, answer: "0", messages: [], keys: {} }),
    ],
  },
  {
    title: "permits: waited for",
    steps: [
      a("trySetPermits"),
      a("acquire"),
      b("waits"),
      a("release", { permitIds: "<1>" }),
      b("is answered"),
      b("release", { permitIds: "<2>" }),
    ],
  },
  {
    title: "permits: waited for, with a limit and a lease",
    steps: [
      a("trySetPermits"),
      a("acquire", { leaseMs: HOUR_MS }),
      b("waits", { waitMs: HOUR_MS, leaseMs: HOUR_MS }),
      a("release", { permitIds: ["<1>"] }),
      b("is answered"),
      b("release", { permitIds: ["<2>"] }),
    ],
  },
  {
    title: "permits: waited for in vain",
    steps: [
      a("trySetPermits"),
      a("acquire"),
      b("waits", { waitMs: SHORT_MS }),
      b("is answered"),
      a("release", { permitIds: "<1>" }),
    ],
  },
  {
    title: "permits: two waited for",
    since: "3.51.0",
    steps: [
      a("trySetPermits", { permits: 2 }),
      a("acquire", { permits: 2 }),
      b("waits", { permits: 2 }),
      a("release", { permitIds: ["<1>", "<2>"] }),
      b("is answered"),
    ],
  },
  {
    title: "permits: waited for, and the total set",
    steps: [
      a("trySetPermits"),
      a("acquire"),
      b("waits"),
      a("setPermits", { permits: 2 }, told(1)),
      b("is answered"),
    ],
  },
  {
    title: "permits: waited for, and permits added",
    steps: [a("trySetPermits"), a("acquire"), b("waits"), a("addPermits"), b("is answered")],
  },
];
