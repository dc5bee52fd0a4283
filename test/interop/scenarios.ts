import { lockChannel, rwChannel } from "../../src/protocol/names.js";
import type { RedissonKind, RedissonLockName } from "../support/jvm/redisson.js";

/** Whoever takes part in a scenario, each in a process of its own. */
export type Actor = "A" | "B" | "C";

/** One thing that somebody does. */
export interface Step {
  readonly by: Actor;
  readonly does:
    | "lock"
    | "tryLock"
    | "unlock"
    | "forceUnlock"
    /** Asks for the lock, with the time to wait or without a limit, and is refused for now. */
    | "waits"
    /** What it waited for has come, or the time for that has run out. */
    | "is answered";
  readonly lock: RedissonLockName;
  readonly leaseMs?: number;
  readonly waitMs?: number;
  /** What comes of it otherwise when one of ours does it. */
  readonly ours?: Difference;
}

/** Where we decide otherwise than Redisson. */
export interface Difference {
  /** The row in docs/reference/redisson-differences.md that says so. */
  readonly row: string;
  readonly answer?: string;
  readonly messages?: readonly string[];
  /** Of all hashes. */
  readonly ttlMs?: number;
  /** In the queue of a fair lock. */
  readonly scoresMs?: Partial<Record<Actor, number>>;
  /** True when no key is left. */
  readonly clean?: boolean;
}

export interface Scenario {
  readonly title: string;
  /** The first release of Redisson that has the kind. Default: all that are tested. */
  readonly since?: string;
  readonly steps: readonly Step[];
}

type Times = Pick<Step, "leaseMs" | "waitMs">;

const HOUR_MS = 3_600_000;
/** Long enough to be seen waiting. */
const SHORT_MS = 1_000;
const NAME = "order:7";

const single = (kind: RedissonKind): RedissonLockName => ({ kind, name: NAME });
const secondMember: RedissonLockName = { kind: "fair", name: `${NAME}:2` };
const multi: RedissonLockName = {
  kind: "multi",
  name: NAME,
  members: [{ kind: "lock", name: `${NAME}:1` }, secondMember],
};
const redMember = (at: number): RedissonLockName => ({ kind: "lock", name: `${NAME}:${at}` });
const red: RedissonLockName = { kind: "red", name: NAME, members: [1, 2, 3].map(redMember) };

/** What somebody does with a lock. */
function who(by: Actor, lock: RedissonLockName) {
  const step = (does: Step["does"], times: Times, ours?: Difference): Step => ({
    by,
    does,
    lock,
    ...times,
    ...(ours === undefined ? {} : { ours }),
  });
  return {
    locks: (times: Times = {}, ours?: Difference) => step("lock", { leaseMs: HOUR_MS, ...times }, ours),
    isWatched: () => step("lock", {}),
    tries: (times: Times = {}, ours?: Difference) => step("tryLock", { leaseMs: HOUR_MS, ...times }, ours),
    unlocks: (ours?: Difference) => step("unlock", {}, ours),
    forces: (ours?: Difference) => step("forceUnlock", {}, ours),
    waits: (times: Times = {}, ours?: Difference) => step("waits", { leaseMs: HOUR_MS, ...times }, ours),
    isAnswered: (ours?: Difference) => step("is answered", {}, ours),
  };
}

const SCORE = "Score: until when a waiter counts as alive";

/** A kind of lock. */
interface Trial {
  readonly name: string;
  readonly lock: RedissonLockName;
  readonly since?: string;
  readonly reentrant: boolean;
  /** Who waits is told by a message, and its call can be stopped there. */
  readonly tells: boolean;
  /** What ours does otherwise. */
  readonly ours?: OursOfKind;
}

interface OursOfKind {
  readonly secondEntry?: Difference;
  readonly shorterEntry?: Difference;
  readonly longerEntry?: Difference;
  /** The release of an entry that was the shorter one. */
  readonly innerRelease?: Difference;
  readonly innerReleaseOfLonger?: Difference;
  readonly release?: Difference;
  /** The release by somebody who never held it. */
  readonly strangersRelease?: Difference;
  /** The release by a holder whose lock was freed by force. */
  readonly lateRelease?: Difference;
  readonly force?: Difference;
  readonly forceInVain?: Difference;
  readonly wait?: Difference;
}

const ENDS_SOONER =
  "A lock that ends sooner than its waiters expect, because the nested hold with the longest lease was released";
const kept: Difference = { row: "Re-entry with a shorter lease", ttlMs: HOUR_MS };
const queues: Difference = { row: SCORE, scoresMs: { B: 330_000 } };
const lowered: Difference = { row: "Inner release", ttlMs: HOUR_MS / 2 };
/** The lock ends in half the time: its waiters are told, on the channels of all its keys. */
const sooner = (...messages: readonly string[]): Difference => ({ ...lowered, messages });
const keptOnly = { shorterEntry: kept, innerRelease: kept, innerReleaseOfLonger: lowered };
const keeps = { ...keptOnly, innerReleaseOfLonger: sooner(`0 -> ${lockChannel(NAME)}`) };
const refused: Difference = { row: "Unlock after the lease has ended", answer: "not held" };
const notAdded: Difference = { row: "Write re-entry", ttlMs: HOUR_MS };
const forced: Difference = { row: "`forceUnlock` and the members", answer: "true", clean: true };
const forcedInVain: Difference = { row: "`forceUnlock` and the members", answer: "false" };

const trials: readonly Trial[] = [
  { name: "lock", lock: single("lock"), reentrant: true, tells: true, ours: keeps },
  { name: "non-reentrant", lock: single("non-reentrant"), reentrant: false, tells: true, since: "4.4.0" },
  {
    name: "fair",
    lock: single("fair"),
    reentrant: true,
    tells: true,
    ours: { ...keptOnly, lateRelease: refused, wait: queues },
  },
  {
    name: "non-reentrant fair",
    lock: single("non-reentrant fair"),
    reentrant: false,
    tells: true,
    since: "4.4.0",
    ours: { lateRelease: refused, wait: queues },
  },
  {
    name: "spin",
    lock: single("spin"),
    reentrant: true,
    tells: false,
    ours: {
      ...keeps,
      release: { row: "Release", messages: [`0 -> ${lockChannel(NAME)}`] },
      force: { row: "Release", messages: [`0 -> ${lockChannel(NAME)}`] },
    },
  },
  { name: "fenced", lock: single("fenced"), reentrant: true, tells: true, ours: keeps },
  {
    name: "read",
    lock: single("read"),
    reentrant: true,
    tells: false,
    ours: {
      innerReleaseOfLonger: { row: ENDS_SOONER, messages: [`0 -> ${rwChannel(NAME)}`] },
      lateRelease: { ...refused, messages: [] },
      force: { row: "`forceUnlock`", clean: true },
    },
  },
  {
    name: "write",
    lock: single("write"),
    reentrant: true,
    tells: true,
    ours: {
      secondEntry: notAdded,
      shorterEntry: notAdded,
      longerEntry: notAdded,
      innerRelease: kept,
      innerReleaseOfLonger: sooner(`1 -> ${rwChannel(NAME)}`),
      lateRelease: { ...refused, messages: [] },
    },
  },
  {
    name: "multi",
    lock: multi,
    reentrant: true,
    tells: false,
    ours: {
      ...keptOnly,
      innerReleaseOfLonger: sooner(`0 -> ${lockChannel(`${NAME}:1`)}`),
      force: { ...forced, messages: [`0 -> ${lockChannel(`${NAME}:1`)}`] },
      forceInVain: forcedInVain,
    },
  },
  {
    name: "red",
    lock: red,
    reentrant: true,
    tells: false,
    ours: {
      ...keptOnly,
      innerReleaseOfLonger: sooner(...[1, 2, 3].map((at) => `0 -> ${lockChannel(`${NAME}:${at}`)}`)),
      strangersRelease: { row: "`unlock`", answer: "not held" },
      force: { ...forced, messages: [1, 2, 3].map((at) => `0 -> ${lockChannel(`${NAME}:${at}`)}`) },
      forceInVain: forcedInVain,
    },
  },
];

function commonTo({ name, lock, reentrant, tells, since, ours = {} }: Trial): readonly Scenario[] {
  const [a, b] = [who("A", lock), who("B", lock)];
  const scenario = (title: string, ...steps: readonly Step[]): Scenario => ({
    title: `${name}: ${title}`,
    steps,
    ...(since === undefined ? {} : { since }),
  });
  const isFreed = a.unlocks(ours.release);
  const scenarios = [
    scenario("taken with a lease, and released", a.locks(), isFreed),
    scenario("kept by the watchdog, and released", a.isWatched(), isFreed),
    scenario(
      "released by somebody who does not hold it",
      a.locks(),
      b.unlocks(ours.strangersRelease),
      isFreed,
    ),
    scenario(
      "freed by force",
      a.locks(),
      b.forces(ours.force),
      a.unlocks(ours.lateRelease),
      b.forces(ours.forceInVain),
    ),
  ];
  if (lock.kind !== "read") scenarios.push(scenario("refused", a.locks(), b.tries(), isFreed));
  if (!reentrant) scenarios.push(scenario("not entered twice", a.locks(), a.locks(), isFreed));
  if (reentrant) {
    // With `lock`, Redisson's multi lock gives its members a lease at random, to which an inner release goes back.
    const enters = lock.members === undefined ? a.locks : a.tries;
    const again = enters({}, ours.secondEntry);
    const shorter = enters({ leaseMs: HOUR_MS / 2 }, ours.shorterEntry);
    const [brief, longer] = [enters({ leaseMs: HOUR_MS / 2 }), enters({}, ours.longerEntry)];
    scenarios.push(
      scenario("entered twice", enters(), again, a.unlocks(), isFreed),
      scenario("entered again for a shorter time", enters(), shorter, a.unlocks(ours.innerRelease), isFreed),
      scenario(
        "entered again for a longer time",
        brief,
        longer,
        a.unlocks(ours.innerReleaseOfLonger),
        isFreed,
      ),
    );
  }
  if (tells || lock.members !== undefined) {
    const limited = b.waits({ waitMs: HOUR_MS }, ours.wait);
    scenarios.push(
      scenario("waited for, with a limit", a.locks(), limited, a.unlocks(), b.isAnswered(), b.unlocks()),
    );
  }
  if (tells) {
    const waits = b.waits({}, ours.wait);
    const short = b.waits({ waitMs: SHORT_MS }, ours.wait);
    const isForced = [a.forces(), b.isAnswered(), b.unlocks()];
    scenarios.push(
      scenario("waited for", a.locks(), waits, a.unlocks(), b.isAnswered(), b.unlocks()),
      scenario("waited for in vain", a.locks(), short, b.isAnswered(), a.unlocks()),
      scenario("freed by force under a waiter", a.locks(), waits, ...isForced),
    );
  }
  return scenarios;
}

const [reader, writer] = [single("read"), single("write")];
const fair = single("fair");

/** What is done with Redisson, and written down; test/interop/records has what became of it. */
export const scenarios: readonly Scenario[] = [
  ...trials.flatMap(commonTo),
  {
    title: "fair: a queue of two, whose first gives up",
    steps: [
      who("A", fair).locks(),
      who("B", fair).waits({ waitMs: SHORT_MS }, queues),
      who("C", fair).waits({}, { row: SCORE, scoresMs: { C: 3_940_000 } }),
      who("B", fair).isAnswered(),
      who("A", fair).unlocks(),
      who("C", fair).isAnswered(),
      who("C", fair).unlocks(),
    ],
  },
  {
    title: "read-write: two readers",
    steps: [
      who("A", reader).locks(),
      who("B", reader).locks(),
      who("B", reader).locks({ leaseMs: HOUR_MS / 2 }),
      who("C", writer).tries(),
      who("A", reader).unlocks(),
      who("B", reader).unlocks(),
      who("B", reader).unlocks(),
    ],
  },
  {
    title: "read-write: two readers, of whom the one with the longer lease leaves first",
    steps: [
      who("A", reader).locks(),
      who("B", reader).locks({ leaseMs: HOUR_MS / 2 }),
      who("A", reader).unlocks({ row: ENDS_SOONER, messages: [`0 -> ${rwChannel(NAME)}`] }),
      who("B", reader).unlocks(),
    ],
  },
  {
    title: "read-write: the other half is freed by force, in vain",
    steps: [
      who("A", writer).locks(),
      who("B", reader).forces(),
      who("A", writer).unlocks(),
      who("A", reader).locks(),
      who("B", writer).forces(),
      who("A", reader).unlocks(),
    ],
  },
  {
    title: "read-write: a writer reads as well, and stops reading first",
    steps: [
      who("A", writer).locks(),
      who("A", reader).locks(),
      who("A", reader).unlocks(),
      who("A", writer).unlocks(),
    ],
  },
  {
    title: "multi: its second member is held",
    steps: [
      who("A", secondMember).locks(),
      who("B", multi).tries(),
      who("A", secondMember).unlocks(),
      who("B", multi).tries(),
      who("B", multi).unlocks(),
    ],
  },
  {
    title: "red: one of three is held, then two",
    steps: [
      who("A", redMember(2)).locks(),
      who("B", red).tries(),
      who("B", red).unlocks(),
      who("A", redMember(3)).locks(),
      who("B", red).tries(),
      who("A", redMember(2)).unlocks(),
      who("A", redMember(3)).unlocks(),
    ],
  },
  {
    title: "read-write: a writer waits for a reader",
    steps: [
      who("A", reader).locks(),
      who("B", writer).waits(),
      who("A", reader).unlocks(),
      who("B", writer).isAnswered(),
      who("B", writer).unlocks(),
    ],
  },
  {
    title: "read-write: a reader waits for a writer",
    steps: [
      who("A", writer).locks(),
      who("B", reader).waits(),
      who("A", writer).unlocks(),
      who("B", reader).isAnswered(),
      who("B", reader).unlocks(),
    ],
  },
  {
    title: "read-write: a writer reads as well, and goes on as a reader",
    steps: [
      who("A", writer).locks(),
      who("A", reader).locks(),
      who("A", writer).unlocks({ row: "Downgrade", messages: [`1 -> ${rwChannel(NAME)}`] }),
      who("B", reader).locks(),
      who("A", reader).unlocks(),
      who("B", reader).unlocks(),
    ],
  },
];
