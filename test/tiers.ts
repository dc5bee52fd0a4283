/**
 * Which files run together. A file belongs to the first group whose patterns fit, so that a new one is in the first tier, which
 * `npm test` runs, unless it is named here. `npx vitest run <file>` finds each, whatever its group.
 */
export interface TestGroup {
  /** The name of its project in Vitest: the tier, and "alone" where each file has a process of its own. */
  readonly name: string;
  /** Without it a worker runs one file after the other in one process, with the modules that it has loaded. */
  readonly alone: boolean;
  readonly files: readonly string[];
  /** Which decorators the files have. Default: none. */
  readonly decorators?: "typescript";
}

export const groups: readonly TestGroup[] = [
  { name: "interop-alone", alone: true, files: ["test/interop/**/*.test.ts"] },
  // Against the package of an earlier version.
  { name: "neighbours-alone", alone: true, files: ["test/neighbours/**/*.test.ts"] },
  // Against real databases, with packages of their own.
  { name: "databases-alone", alone: true, files: ["test/databases/**/*.test.ts"] },
  // In a real browser.
  { name: "page-alone", alone: true, files: ["test/page/**/*.test.ts"] },
  {
    name: "topologies-alone",
    alone: true,
    files: [
      "test/{connections,topology}/**/*.test.ts",
      "test/conformance/{ioredis-topologies,valkey-glide-cluster}.test.ts",
    ],
  },
  // Frameworks are large to load, and their decorators are those of TypeScript.
  { name: "nest-alone", alone: true, files: ["packages/nestjs/test/**/*.test.ts"], decorators: "typescript" },
  {
    // The command line against real servers, and as a process of its own that starts others.
    name: "tools-alone",
    alone: true,
    files: [
      "packages/cli/test/*-redis.test.ts",
      "packages/cli/test/doctor-{cluster,sentinels}.test.ts",
      "packages/cli/test/inspect-processes.test.ts",
      // Frameworks are large to load.
      "test/inspector/frameworks.test.ts",
      // By promtool.
      "test/operations/rules.test.ts",
      "packages/cli/test/exec-{arguments,cluster,connections,exit-codes,groups,leftovers,loss}.test.ts",
      "packages/cli/test/exec-{sentinels,signals,terminal,waiting}.test.ts",
      "packages/cli/test/unlock-{cluster,terminal}.test.ts",
    ],
  },
  {
    name: "long-alone",
    alone: true,
    files: [
      "test/inspector/{large-fleet-redis,memory}.test.ts",
      "test/{kinds,recipes,redlock,synchronizers}/*processes.test.ts",
      "test/locks/force-unlock-races-redis.test.ts",
      "test/finding/many-locks-redis.test.ts",
      "test/presence/large-fleet-redis.test.ts",
      "packages/cli/test/unlock-races.test.ts",
    ],
  },
  {
    name: "redis-alone",
    alone: true,
    files: [
      // It runs the demo, and measures for how long.
      "test/demo/demo.test.ts",
      // They look at stacks, which are as deep as what has run before.
      "test/{locks,synchronizers}/error-stacks.test.ts",
      // It patches the Redis clients, and sets what belongs to the process.
      "test/otel/spans.test.ts",
      // Its commands may take an hour: nothing that another file has left in the process may hold them up.
      "test/locks/ended-client.test.ts",
    ],
  },
  {
    name: "redis",
    alone: false,
    files: [
      "test/conformance/{differential,lua-differential,names-differential,node-redis}.test.ts",
      "test/finding/{bounds,locks}-redis.test.ts",
      "test/faults/{closing,late-commands,lost-replies-clients,subscriptions,unhelpful-servers,unreachable}.test.ts",
      "test/faults/{refused-commands-all,refused-rights}.test.ts",
      "test/kinds/{fair-lock,fair-lock-crowds,fair-lock-redis,hostile-names,kinds-settings,read-write-lock,read-write-model}.test.ts",
      "test/kinds/{red-lock-servers,red-lock-slow-servers,restarts}.test.ts",
      "test/locks/{bursts-redis,error-messages-redis,groups-redis,hand-off-far-clients,inspect-listeners}.test.ts",
      "test/locks/{call-watchdog-killed,lease-told-redis,load,reentrant-lock,sooner-ends-redis,wake-ups}.test.ts",
      "test/presence/presence-redis.test.ts",
      "test/{locks,synchronizers}/redisson-records.test.ts",
      "test/synchronizers/{permit-expired,permits,semaphore-faults,semaphore-servers}.test.ts",
      // What the tests themselves stand on.
      "test/unit/{child,redis-server}.test.ts",
    ],
  },
  {
    name: "first-alone",
    alone: true,
    files: [
      // They load modules of the package anew, replace what belongs to the process, or measure its memory. To collect garbage again
      // and again takes long where many files have left some.
      "test/{kinds/multi-lock,locks/lease,synchronizers/permit}-abandoned.test.ts",
      "test/locks/{lost-leases,self-wait,waiting-memory}.test.ts",
      // Their recipes and examples listen for good.
      "test/otel/guide.test.ts",
      "test/unit/{examples,run-blocks}.test.ts",
      "test/unit/{embedded-server,environment,fake-timers,testing-guide}.test.ts",
    ],
  },
  // The simulator's trap replaces clocks, timers and random numbers for good: no other file may follow in its process.
  { name: "first-simulator", alone: false, files: ["test/simulation/**/*.test.ts"] },
  { name: "first", alone: false, files: ["{packages/cli/,}test/**/*.test.ts"] },
];
