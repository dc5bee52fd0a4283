import fc from "fast-check";
import type { Snapshot } from "../../../src/memory/index.js";
import { fairAcquire, fairRefresh, fairRelease } from "../../../src/protocol/fair-scripts.js";
import { lockInspectMany } from "../../../src/protocol/finding-scripts.js";
import {
  fairForceUnlock,
  lockForceUnlock,
  readForceUnlock,
  writeForceUnlock,
} from "../../../src/protocol/force-unlock-scripts.js";
import { lockInspect } from "../../../src/protocol/inspect-scripts.js";
import type { AcquireCall, AcquireItem, Release, Renewal } from "../../../src/protocol/lock-calls.js";
import {
  lockAcquire,
  lockConfirm,
  lockKeep,
  lockRelease,
  lockRenew,
  lockSucceed,
} from "../../../src/protocol/lock-scripts.js";
import { fairQueueKey, MODE_FIELD } from "../../../src/protocol/names.js";
import {
  readAcquire,
  readRelease,
  readRenew,
  writeAcquire,
  writeRelease,
} from "../../../src/protocol/read-write-scripts.js";
import { briefText } from "../run/brief.js";
import { holder, type InformedStep, meanwhile, type Step, textOf, withRepeats } from "./command-histories.js";
import type { Action } from "./server-pair.js";

/** No call comes later. */
export const epochFarOffMs: number = Date.now() + 3_600_000;

/** What the histories of one test are about. */
export interface Names {
  /** Of locks, semaphores, latches or groups of clients. */
  readonly objects: readonly string[];
  readonly channels: readonly string[];
}

const leaseMs = fc.constantFrom(60_000, 120_000, 600_000);
const count = fc.integer({ min: 0, max: 3 });
const notAfterMs = fc.oneof({ weight: 9, arbitrary: fc.constant(epochFarOffMs) }, fc.constant(1));
const oneToThree = { minLength: 1, maxLength: 3 };

const acquiring = [lockAcquire, readAcquire(true), writeAcquire(true), fairAcquire];
const releasing = [lockRelease, readRelease, writeRelease, fairRelease];
const renewing = [lockRenew, readRenew];
const freeing = [lockForceUnlock, readForceUnlock, writeForceUnlock, fairForceUnlock];

/** As one call of the script may be about them; those that are wanted together have none of them yet. */
function alike({ locks, together }: AcquireCall): readonly AcquireItem[] {
  const [{ leaseMs: lease, heldCount } = { leaseMs: 1, heldCount: 0 }] = locks;
  const held = together ? 0 : heldCount;
  const same = locks.map((lock) => ({ ...lock, leaseMs: lease, heldCount: held }));
  return [...same.filter(({ fenced }) => !fenced), ...same.filter(({ fenced }) => fenced)];
}

function freed(locks: readonly Release[]): readonly Release[] {
  return locks.length === 1 ? locks : locks.map((lock) => ({ ...lock, keptCount: 0, keptMs: [] }));
}

function keptFor({ lock, keepForMs }: { readonly lock: Release; readonly keepForMs: number }): Release {
  return { ...lock, keepForMs };
}

/** Scripts and whatever else meets the keys of locks. */
export function lockHistories(names: Names): fc.Arbitrary<readonly Step[]> {
  const key = fc.constantFrom(...names.objects);
  const channel = fc.constantFrom(...names.channels);
  const acquisition: fc.Arbitrary<AcquireItem> = fc.record({
    key,
    holder,
    leaseMs,
    heldCount: count,
    kin: fc.oneof({ weight: 3, arbitrary: fc.constant("") }, holder),
    waits: fc.boolean(),
    fenced: fc.boolean(),
    channel,
  });
  const released: fc.Arbitrary<Release> = fc
    .record({
      key,
      holder,
      heldCount: fc.integer({ min: 1, max: 3 }),
      keptCount: count,
      ttlMs: leaseMs,
      channel,
    })
    .map((release) => {
      const keptCount = Math.min(release.keptCount, release.heldCount);
      return { ...release, keptCount, keptMs: Array.from({ length: keptCount }, () => release.ttlMs) };
    });
  const renewal: fc.Arbitrary<Renewal> = fc.record({
    key,
    holder,
    leaseMs,
    holdMs: fc.array(fc.constantFrom(0, 60_000, 600_000), { maxLength: 3 }),
  });

  const scripts: fc.Arbitrary<Action> = fc
    .oneof(
      fc
        .record({ notAfterMs, together: fc.boolean(), locks: fc.array(acquisition, oneToThree) })
        .chain((call) =>
          fc
            .constantFrom(...acquiring)
            .map((script) => script.encode(script === lockAcquire ? { ...call, locks: alike(call) } : call)),
        ),
      fc
        .record({
          notAfterMs: fc.oneof(notAfterMs, fc.constant(0)),
          locks: fc.array(released, oneToThree),
        })
        .chain((call) =>
          fc
            .constantFrom(...releasing)
            .map((script) =>
              script.encode(script === lockRelease ? { ...call, locks: freed(call.locks) } : call),
            ),
        ),
      fc
        .array(renewal, oneToThree)
        .chain((call) => fc.constantFrom(...renewing).map((script) => script.encode(call))),
      fc
        .record({
          key,
          notAfterMs,
          channel,
          seen: fc.dictionary(fc.oneof(holder, fc.constant("mode")), count.map(String), { maxKeys: 2 }),
        })
        .chain((call) => fc.constantFrom(...freeing).map((script) => script.encode(call))),
      fc
        .array(fc.record({ key, channel, holders: fc.array(holder, { maxLength: 3 }) }), oneToThree)
        .map(fairRefresh.encode),
      fc
        .array(
          fc.record({
            key,
            holders: fc.array(holder, oneToThree),
            slots: fc.constantFrom<readonly number[]>([], [], [1], [1, 2]),
          }),
          oneToThree,
        )
        .map(lockConfirm.encode),
      fc
        .record({
          notAfterMs,
          locks: fc.array(fc.record({ lock: released, keepForMs: leaseMs }), oneToThree),
        })
        .map((call) => lockKeep.encode({ ...call, locks: call.locks.map(keptFor) })),
      fc
        .record({ notAfterMs, key, leaseMs, successor: holder, predecessors: fc.array(holder, oneToThree) })
        .map((call) => lockSucceed.encode(call)),
      fc
        .record({
          key,
          queueKey: key,
          tokenKey: key,
          leasesKey: key,
          waitingKey: fc.option(key, { nil: undefined }),
        })
        .map((look) => lockInspect.encode(look)),
      fc
        .record({ locks: fc.array(key, oneToThree), withClients: fc.boolean() })
        .map((look) => lockInspectMany.encode(look)),
    )
    .map((call) => ({ ...call, [fc.toStringMethod]: () => textOf(call) }));

  const informed: fc.Arbitrary<InformedStep> = fc
    .record({
      acquisition,
      kind: fc.constantFrom(0, 1, 2, 3),
      act: fc.constantFrom(
        "acquire",
        "release",
        "force-unlock",
        "refresh",
        "miscount",
        "keep",
        "succeed",
        "renew",
      ),
      /** Whether it is the one that has the lock, where anybody has it. */
      isHolder: fc.boolean(),
      // A release that frees the lock, and has no limit, is answered by a mere number.
      releasedBy: fc.constantFrom(epochFarOffMs, 0),
    })
    .map((given) => ({
      decide(stored: Snapshot) {
        const { act, kind, acquisition: asked, isHolder, releasedBy } = given;
        const notAfterMs = epochFarOffMs;
        const entry = stored[asked.key];
        const seen = entry?.type === "hash" ? entry.value : {};
        const [first = asked.holder] = Object.keys(seen).filter((field) => field !== MODE_FIELD);
        const lock = { ...asked, holder: isHolder ? first : asked.holder };
        const heldCount = Math.max(0, Math.min(9, Math.trunc(Number(seen[lock.holder])) || 0));
        if (act === "force-unlock")
          return (freeing[kind] ?? lockForceUnlock).encode({ ...lock, notAfterMs, seen });
        if (act === "refresh") {
          const queue = stored[fairQueueKey(lock.key)];
          // Nobody waits who has not asked before.
          if (queue?.type !== "list")
            return fairAcquire.encode({ notAfterMs, locks: [{ ...lock, heldCount, waits: true }] });
          return fairRefresh.encode([{ key: lock.key, channel: lock.channel, holders: queue.value }]);
        }
        if (act === "acquire") {
          return (acquiring[kind] ?? lockAcquire).encode({ notAfterMs, locks: [{ ...lock, heldCount }] });
        }
        if (act === "renew") {
          const holdMs = Array.from({ length: heldCount }, () => lock.leaseMs);
          return (renewing[kind % renewing.length] ?? lockRenew).encode([{ ...lock, holdMs }]);
        }
        if (act === "succeed") {
          const predecessors = Object.keys(seen).filter((field) => field !== lock.holder);
          return lockSucceed.encode({ ...lock, notAfterMs, successor: lock.holder, predecessors });
        }
        const keptCount = act === "miscount" ? heldCount + 1 : Math.max(heldCount - 1, 0);
        const keptMs = Array.from({ length: keptCount }, () => lock.leaseMs);
        const counts = {
          heldCount: Math.max(heldCount, keptCount + 1),
          keptCount,
          keptMs,
          ttlMs: lock.leaseMs,
        };
        const call = { notAfterMs: releasedBy, locks: [{ ...lock, ...counts, keepForMs: lock.leaseMs }] };
        return (act === "keep" ? lockKeep : (releasing[kind] ?? lockRelease)).encode(call);
      },
      [fc.toStringMethod]: () => `{ informed: ${briefText(JSON.stringify(given))} }`,
    }));

  return withRepeats(
    fc.oneof(
      { weight: 8, arbitrary: scripts },
      { weight: 6, arbitrary: informed },
      { weight: 5, arbitrary: meanwhile(key) },
    ),
  );
}
