import type { Permits } from "../../../src/synchronizers/permits.js";
import { PLAIN } from "./lock-scenes.js";
import type { Player } from "./player.js";
import { type Bound, NAME, type SceneDefinition, type Task } from "./scene.js";

const SLOW: Bound = { ...PLAIN, overtakes: 1 };
/** What their refusals are about: whether they are true is not judged by any key. */
const PERMITS = ["permit semaphore"];

/** No answer of a scene takes so long as these two leases differ by. */
const LONGEST_WAY_MS = 10_000;

const common = { bound: PLAIN, heldKeys: () => [] } as const;

const onePermit = {
  ...common,
  kind: "semaphore",
  async prepare({ holdfast }: Player) {
    await holdfast.getSemaphore(NAME).trySetPermits(1);
  },
  atEnd: async ({ holdfast }: Player) => wrongCount(1, await holdfast.getSemaphore(NAME).availablePermits()),
} as const;

/** Both are out, and whoever takes one keeps it. */
const twoPermits = {
  ...common,
  kind: "semaphore",
  async prepare({ holdfast }: Player) {
    await holdfast.getSemaphore(NAME).trySetPermits(2);
    await holdfast.getSemaphore(NAME).acquire(2);
  },
  atEnd: async ({ holdfast }: Player) => wrongCount(0, await holdfast.getSemaphore(NAME).availablePermits()),
} as const;

const oneLeasedPermit = {
  ...common,
  kind: "permit semaphore",
  async prepare({ holdfast }: Player) {
    await holdfast.getPermitExpirableSemaphore(NAME).trySetPermits(1);
  },
  atEnd: async ({ holdfast }: Player) =>
    wrongCount(1, await holdfast.getPermitExpirableSemaphore(NAME).availablePermits()),
} as const;

const latch = {
  ...common,
  kind: "latch",
  async prepare({ holdfast }: Player) {
    await holdfast.getCountDownLatch(NAME).trySetCount(1);
  },
  atEnd: async ({ holdfast }: Player) => wrongCount(0, await holdfast.getCountDownLatch(NAME).getCount()),
} as const;

function wrongCount(wanted: number, count: number): string | undefined {
  return count === wanted ? undefined : `there should be ${wanted}, and there are ${count}`;
}

interface Wish {
  readonly waitMs?: number;
  readonly leaseMs?: number;
  readonly signal?: AbortSignal;
}

async function acquireAndRelease(player: Player, wish: Wish = {}): Promise<void> {
  const semaphore = player.holdfast.getSemaphore(NAME);
  const { waitMs = Number.POSITIVE_INFINITY } = wish;
  const asked = { what: "acquire", names: PERMITS, ...wish, waitMs };
  const { ok } = await player.call(asked, () => semaphore.acquire(wish));
  if (!ok) return;
  player.enterCounted(1);
  await player.goOn();
  player.leaveCounted();
  await player.call({ what: "release", names: PERMITS, waitMs: 0 }, () => semaphore.release());
}

async function acquirePermit(player: Player, wish: Wish = {}): Promise<Permits | undefined> {
  const semaphore = player.holdfast.getPermitExpirableSemaphore(NAME);
  const { waitMs = Number.POSITIVE_INFINITY } = wish;
  const asked = { what: "acquire", names: PERMITS, ...wish, waitMs };
  const became = await player.call(asked, () => semaphore.acquire(wish));
  if (!became.ok) return undefined;
  player.enterPermits(became.value);
  return became.value;
}

async function releasePermit(player: Player, permits: Permits): Promise<void> {
  const mayBeOver = player.leavePermits(permits);
  await player.call({ what: "release", names: PERMITS, waitMs: 0, mayBeOver }, () => permits.release());
}

async function leaseAndRelease(player: Player, wish: Wish = {}): Promise<void> {
  const permits = await acquirePermit(player, wish);
  if (permits === undefined) return;
  await player.goOn();
  await releasePermit(player, permits);
}

/** Has its lease made longer while it may end. */
const prolong: Task = async (player) => {
  const permits = await acquirePermit(player, { leaseMs: 1_500 });
  if (permits === undefined) return;
  await player.goOn();
  const semaphore = player.holdfast.getPermitExpirableSemaphore(NAME);
  await player.call({ what: "updateLeaseTime", names: PERMITS, waitMs: 0, mayBeOver: true }, () =>
    semaphore.updateLeaseTime(permits.ids, 4_000),
  );
  await player.goOn();
  await releasePermit(player, permits);
};

/** Sets a long lease and then a short one, and believes no longer than Redis has its permit out. */
const shorten: Task = async (player) => {
  const permits = await acquirePermit(player, { leaseMs: 60_000 });
  const [id = ""] = permits?.ids ?? [];
  if (permits === undefined) return;
  const semaphore = player.holdfast.getPermitExpirableSemaphore(NAME);
  const update = (leaseMs: number) =>
    player.call({ what: `updateLeaseTime ${leaseMs}`, names: PERMITS, waitMs: 0, mayBeOver: true }, () =>
      semaphore.updateLeaseTime([id], leaseMs),
    );
  const long = update(50_000);
  await player.goOn();
  await Promise.all([long, update(20_000)]);
  const believedMs = permits.remainingMs();
  const asked = { what: "getLeaseTime", names: [], waitMs: 0, mayBeOver: true };
  const left = await player.call(asked, () => semaphore.getLeaseTime(id));
  if (left.ok && believedMs > left.value + LONGEST_WAY_MS) {
    const text = `permits are believed for ${believedMs} ms, and are out for ${left.value} ms`;
    player.scene.checker.fail("exclusion", text);
  }
  await releasePermit(player, permits);
};

const countingDown: Task = async (player) => {
  const asked = { what: "countDown", names: [], waitMs: 0 };
  await player.call(asked, () => player.holdfast.getCountDownLatch(NAME).countDown());
};

const awaiting: Task = async (player) => {
  const asked = { what: "await", names: PERMITS, waitMs: Number.POSITIVE_INFINITY };
  await player.call(asked, () => player.holdfast.getCountDownLatch(NAME).await());
};

const releasingBoth: Task = async (player) => {
  const asked = { what: "release 2", names: PERMITS, waitMs: 0 };
  await player.call(asked, () => player.holdfast.getSemaphore(NAME).release(2));
};

const keeping: Task = async (player) => {
  const asked = { what: "acquire", names: PERMITS, waitMs: Number.POSITIVE_INFINITY };
  await player.call(asked, () => player.holdfast.getSemaphore(NAME).acquire());
};

const acquiring: Task = (player) => acquireAndRelease(player);
const leasing: Task = (player) => leaseAndRelease(player);

export const SYNC_SCENES: readonly SceneDefinition[] = [
  { ...onePermit, name: "semaphore: two acquire", processes: [[acquiring], [acquiring]], isSmall: true },
  {
    ...onePermit,
    name: "semaphore: one acquires, one aborts",
    processes: [[acquiring], [(player) => acquireAndRelease(player, { signal: player.abortSignal() })]],
  },
  {
    ...onePermit,
    name: "semaphore: one acquires, cut",
    processes: [[acquiring]],
    bound: { ...PLAIN, faults: 1, sorts: ["cut"] },
  },
  {
    ...onePermit,
    name: "semaphore: two acquire, message lost",
    processes: [[acquiring], [acquiring]],
    bound: { ...PLAIN, faults: 1, sorts: ["message lost"] },
  },
  {
    ...twoPermits,
    name: "semaphore: two come back at once, two of one process keep one each",
    processes: [[releasingBoth], [keeping, keeping]],
  },
  {
    ...oneLeasedPermit,
    name: "permit semaphore: two acquire",
    processes: [[leasing], [leasing]],
    isSmall: true,
  },
  {
    ...oneLeasedPermit,
    name: "permit semaphore: one acquires, one aborts",
    processes: [[leasing], [(player) => leaseAndRelease(player, { signal: player.abortSignal() })]],
  },
  {
    ...oneLeasedPermit,
    name: "permit semaphore: one acquires, cut",
    processes: [[leasing]],
    bound: { ...PLAIN, faults: 1, sorts: ["cut"] },
  },
  {
    ...oneLeasedPermit,
    name: "permit semaphore: two new leases at once, cut",
    processes: [[shorten]],
    rules: { resends: false, queues: true },
    bound: { ...PLAIN, faults: 1, sorts: ["cut"] },
  },
  {
    ...oneLeasedPermit,
    name: "permit semaphore: updateLeaseTime while the lease ends",
    processes: [[prolong]],
    bound: SLOW,
    promptMs: 2_000,
  },
  {
    ...latch,
    name: "latch: one counts down, two await",
    processes: [[countingDown], [awaiting], [awaiting]],
  },
  {
    ...latch,
    name: "latch: one counts down, two of one process await",
    processes: [[countingDown], [awaiting, awaiting]],
  },
  {
    ...latch,
    name: "latch: one counts down, one awaits",
    processes: [[countingDown], [awaiting]],
    isSmall: true,
  },
  {
    ...latch,
    name: "latch: one counts down, one awaits, cut",
    processes: [[countingDown], [awaiting]],
    bound: { ...PLAIN, faults: 1, sorts: ["cut"] },
  },
  {
    ...latch,
    name: "latch: one counts down, one awaits, message lost",
    processes: [[countingDown], [awaiting]],
    bound: { ...PLAIN, faults: 1, sorts: ["message lost"] },
  },
];
