/**
 * The sidebar: a section for each folder of docs/, with its pages in this order. A page that is missing here follows at the end of its
 * section by itself. A folder that is missing here fails the build, and so does a name without a page.
 */
export interface Section {
  /** Below docs/, or below docs/zh/. */
  readonly folder: string;
  readonly title: string;
  /** The title among the Chinese pages. */
  readonly zh: string;
  /** Names of pages without `.md`. */
  readonly pages: readonly string[];
  readonly isCollapsed?: boolean;
}

export const sections: readonly Section[] = [
  {
    folder: "guide",
    title: "Guide",
    zh: "指南",
    pages: [
      ...["first-steps", "choosing-a-lock", "leases", "reentry", "limiting-concurrency", "fencing"],
      ...["fencing-databases", "fencing-s3-and-http", "recipes", "cron", "jobs-and-endpoints", "in-order"],
      ...["nestjs", "nestjs-operating", "clients", "servers", "topologies", "testing", "operating"],
      ...[
        "observing",
        "prometheus",
        "opentelemetry",
        "prom-client",
        "logging",
        "presence",
        "finding-locks",
        "inspector",
      ],
      "alternatives",
    ],
  },
  {
    folder: "guide/kinds",
    title: "Kinds of lock",
    zh: "锁的种类",
    pages: [
      ...["lock", "fair-lock", "read-write-lock", "fenced-lock", "spin-lock", "multi-lock", "red-lock"],
      ...["permit-expirable-semaphore", "semaphore", "count-down-latch"],
    ],
  },
  {
    folder: "migrate",
    title: "From another library",
    zh: "迁移",
    pages: [
      ...["README", "redlock", "redisson", "node-redisson", "redis-semaphore", "bottleneck"],
      ...["async-mutex", "shedlock"],
    ],
  },
  {
    folder: "reference",
    title: "Reference",
    zh: "参考",
    pages: [
      ...["options", "errors", "events", "kinds", "command-line", "keys", "servers", "runtimes"],
      ...["refused-commands", "redisson-methods", "redisson-differences", "interop"],
    ],
  },
  {
    folder: "internals",
    title: "Internals",
    zh: "内部",
    pages: [
      ...["architecture", "states", "waiting-queue", "adapters", "faults", "simulation", "performance"],
      ...["scale", "track-record", "tried-as-a-new-user", "releasing"],
    ],
    isCollapsed: true,
  },
  { folder: "decisions", title: "Decisions", zh: "决策", pages: [], isCollapsed: true },
];
