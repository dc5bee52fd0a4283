import {
  actors,
  CHANGES,
  HOUR_MS,
  holds,
  SHORT_MS,
  type SynchronizerScenario,
  untold,
} from "./synchronizer-steps.js";

const { a, b } = actors("semaphore");

export const semaphoreScenarios: readonly SynchronizerScenario[] = [
  {
    title: "semaphore: set once, and deleted",
    steps: [
      b("availablePermits"),
      a("trySetPermits", { permits: 3 }),
      b("trySetPermits", { permits: 5 }),
      b("availablePermits"),
      a("delete"),
      b("delete"),
    ],
  },
  {
    title: "semaphore: set to nothing",
    steps: [a("trySetPermits", { permits: 0 }, untold), b("tryAcquire"), a("release"), b("tryAcquire")],
  },
  {
    title: "semaphore: one after the other",
    steps: [
      a("trySetPermits", { permits: 2 }),
      a("acquire"),
      b("tryAcquire"),
      a("tryAcquire"),
      b("release"),
      a("tryAcquire"),
      a("release"),
      b("release"),
    ],
  },
  {
    title: "semaphore: several at once",
    steps: [
      a("trySetPermits", { permits: 3 }),
      a("acquire", { permits: 2 }),
      b("tryAcquire", { permits: 2 }),
      b("tryAcquire"),
      a("release", { permits: 2 }),
      b("acquire", { permits: 2 }),
    ],
  },
  {
    title: "semaphore: none at all",
    steps: [a("acquire", { permits: 0 }), a("tryAcquire", { permits: 0 }), a("release", { permits: 0 })],
  },
  {
    title: "semaphore: made by a release",
    steps: [a("tryAcquire"), a("release", { permits: 2 }), b("acquire"), b("availablePermits")],
  },
  {
    title: "semaphore: released if it exists",
    since: "4.0.0",
    steps: [
      a("releaseIfExists"),
      a("trySetPermits", { permits: 1 }),
      b("releaseIfExists", { permits: 2 }),
      a("releaseIfExists", { permits: 0 }),
    ],
  },
  {
    title: "semaphore: permits added",
    steps: [
      a("addPermits", { permits: 2 }),
      b("addPermits", { permits: 3 }),
      b("addPermits", { permits: -1 }),
      a("availablePermits"),
    ],
  },
  {
    title: "semaphore: more permits withdrawn than there are",
    steps: [
      a("addPermits", { permits: -2 }, untold),
      b("availablePermits"),
      b("tryAcquire"),
      a("release", { permits: 2 }, untold),
      a("release"),
      b("tryAcquire"),
    ],
  },
  {
    title: "semaphore: drained",
    steps: [
      a("drainPermits"),
      a("trySetPermits", { permits: 3 }),
      b("acquire"),
      b("drainPermits"),
      a("drainPermits"),
      b("release"),
    ],
  },
  {
    title: "semaphore: drained where permits are owed",
    steps: [
      a("addPermits", { permits: -2 }, untold),
      b("drainPermits", {}, { row: CHANGES, answer: "0", keys: holds(-2) }),
    ],
  },
  {
    title: "semaphore: with an end",
    since: "3.29.0",
    steps: [
      a("trySetPermits", { permits: 3, ttlMs: HOUR_MS }),
      b("acquire"),
      b("release"),
      a("addPermits", { permits: 2 }, { row: CHANGES, keys: holds(5, HOUR_MS) }),
    ],
  },
  {
    title: "semaphore: with an end, and drained",
    since: "3.29.0",
    steps: [
      a("trySetPermits", { permits: 3, ttlMs: HOUR_MS }),
      b("drainPermits", {}, { row: CHANGES, keys: holds(0, HOUR_MS) }),
    ],
  },
  {
    title: "semaphore: waited for",
    steps: [a("trySetPermits"), a("acquire"), b("waits"), a("release"), b("is answered"), b("release")],
  },
  {
    title: "semaphore: waited for, with a limit",
    steps: [
      a("trySetPermits"),
      a("acquire"),
      b("waits", { waitMs: HOUR_MS }),
      a("release"),
      b("is answered"),
      b("release"),
    ],
  },
  {
    title: "semaphore: waited for in vain",
    steps: [
      a("trySetPermits"),
      a("acquire"),
      b("waits", { waitMs: SHORT_MS }),
      b("is answered"),
      a("release"),
    ],
  },
  {
    title: "semaphore: two waited for",
    steps: [
      a("trySetPermits", { permits: 2 }),
      a("acquire", { permits: 2 }),
      b("waits", { permits: 2 }),
      a("release"),
      a("release"),
      b("is answered"),
    ],
  },
  {
    title: "semaphore: waited for, and permits added",
    steps: [
      a("trySetPermits"),
      a("acquire"),
      b("waits", { permits: 2 }),
      a("addPermits", { permits: 2 }),
      b("is answered"),
    ],
  },
  {
    title: "semaphore: waited for before it was set, and deleted meanwhile",
    steps: [
      b("waits", { permits: 2 }),
      a("release"),
      a("delete"),
      a("trySetPermits", { permits: 3 }),
      b("is answered"),
    ],
  },
];
