import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { interop, release } from "../support/jvm/interop.js";
import type { User } from "../support/jvm/lock-user.js";
import { type Redisson, type RedissonLockName, startRedisson } from "../support/jvm/redisson.js";
import { type Proof, proves } from "../support/run/proof.js";
import { until } from "../support/run/until.js";
import { type Child, spawnProgram } from "../support/worlds/child.js";
import { type InteropKind, interopKinds } from "./kinds.js";

const both = interop();
const WATCHDOG_MS = 2_000;
const LONG_MS = 60_000;

/** Processes that hold a lock of each kind, kept alive by their watchdogs. */
interface Holders {
  kill(): Promise<unknown>;
}

const nameOf = ({ name }: InteropKind) => `of ${name}`;

async function isWatched({ name, members }: RedissonLockName): Promise<boolean> {
  const names = members?.map((member) => member.name) ?? [name];
  const ttls = await Promise.all(names.map((key) => both.plain.pttl(key)));
  return ttls.every((ttlMs) => ttlMs > 0 && ttlMs <= WATCHDOG_MS);
}

async function jvmHolder(): Promise<Holders> {
  const redisson: Redisson = await startRedisson(release);
  const client = await redisson.connect(both.server.url, { watchdogMs: WATCHDOG_MS });
  await Promise.all(interopKinds.map((kind) => client.thread(kind.name).call(kind.of(nameOf(kind)), "lock")));
  return { kill: () => redisson.stop() };
}

async function nodeHolders(): Promise<Holders> {
  const children: Child[] = await Promise.all(
    interopKinds.map(async (kind) => {
      const { kind: own, name: lock } = kind.of(nameOf(kind));
      const settings = { port: both.server.port, lock, kind: own, watchdogMs: WATCHDOG_MS };
      const child = spawnProgram("lock-taker", settings);
      await child.next("ready");
      expect(await child.ask("lock")).toMatchObject({ event: "held" });
      return child;
    }),
  );
  return { kill: () => Promise.all(children.map((child) => child.stop())) };
}

interface Direction {
  readonly title: Proof["direction"];
  readonly kinds: readonly InteropKind[];
  readonly hold: () => Promise<Holders>;
  /** Who waits. */
  readonly user: (beside?: User) => Promise<User>;
}

describe.each<Direction>([
  {
    title: "a JVM holds, Node waits",
    kinds: interopKinds,
    hold: jvmHolder,
    user: (beside) => both.node(beside && { beside }),
  },
  {
    title: "Node holds, a JVM waits",
    // See "for ever" in mixed-fleets.test.ts.
    kinds: interopKinds.filter(({ sleeps = false }) => !sleeps),
    hold: nodeHolders,
    user: (beside) => both.jvm(beside && { beside }),
  },
])(`Redisson ${release}: $title, and its process is killed`, ({ title, kinds, hold, user }) => {
  /** Whether a lock had a lease of the watchdog, was still held after it, and was had after the death of its holder. */
  const outcomes = new Map<string, { watched: boolean; outlived: boolean; had: boolean }>();
  let holders: Holders | undefined;

  beforeAll(async () => {
    holders = await hold();
    const endMs = (await both.nowMs()) + 1.5 * WATCHDOG_MS;
    const first = await user();
    const waits: Promise<void>[] = [];
    for (const kind of kinds) {
      const { of, rival = of } = kind;
      const waiter = await user(first);
      const outcome = { watched: await isWatched(of(nameOf(kind))), outlived: false, had: false };
      outcomes.set(kind.name, outcome);
      waits.push(
        waiter.lock(rival(nameOf(kind))).then(() => {
          outcome.had = outcome.outlived;
          return waiter.unlock(rival(nameOf(kind)));
        }),
      );
    }
    await until(async () => (await both.nowMs()) > endMs);
    for (const kind of kinds) {
      const outcome = outcomes.get(kind.name);
      const { of, rival = of } = kind;
      if (outcome !== undefined) outcome.outlived = !(await first.tryLock(rival(nameOf(kind))));
    }
    await holders.kill();
    await Promise.all(waits);
  }, LONG_MS);
  afterAll(() => holders?.kill());

  describe.each(kinds)("$name", ({ name }) => {
    proves({ kind: name, direction: title, of: "watchdog" });

    test("outlives its first lease while the process lives, and ends with it", () => {
      expect(outcomes.get(name)).toEqual({ watched: true, outlived: true, had: true });
    });
  });
});
