import fc from "fast-check";
import type { Snapshot } from "../../../src/memory/index.js";
import {
  fairAcquire,
  fairForceUnlock,
  fairRefresh,
  fairRelease,
} from "../../../src/protocol/fair-scripts.js";
import type { AcquireCall, Acquisition, Release, Renewal } from "../../../src/protocol/lock-calls.js";
import {
  lockAcquire,
  lockConfirm,
  lockForceUnlock,
  lockInspect,
  lockRelease,
  lockRenew,
} from "../../../src/protocol/lock-scripts.js";
import { fairQueueKey } from "../../../src/protocol/names.js";
import {
  readAcquire,
  readForceUnlock,
  readRelease,
  readRenew,
  writeAcquire,
  writeForceUnlock,
  writeRelease,
} from "../../../src/protocol/read-write-scripts.js";
import { isReference } from "./redis-program.js";
import type { Action } from "./server-pair.js";

/** One step of a history of what many clients ask of a server. */
export type Step = Action | InformedStep | { readonly full: boolean };

/** What a client does that knows what is stored. */
export interface InformedStep {
  readonly decide: (stored: Snapshot) => Action;
}

/** No call comes later. */
export const epochFarOffMs: number = Date.now() + 3_600_000;

const key = fc.constantFrom("lock a", "lock b", "lock c");
const holder = fc.constantFrom(
  "h1",
  "hölder 2",
  "h3:write",
  "c0000000-0000-8001-8000-000000000000:1",
  "c0000000-0000-8001-8000-000000000000:2",
);
const channel = fc.constantFrom("channel one", "channel two", "nobody listens");
const leaseMs = fc.constantFrom(60_000, 120_000, 600_000);
const count = fc.integer({ min: 0, max: 3 });
const notAfterMs = fc.oneof({ weight: 9, arbitrary: fc.constant(epochFarOffMs) }, fc.constant(1));
const oneToThree = { minLength: 1, maxLength: 3 };

const acquiring = [lockAcquire, readAcquire(true), writeAcquire(true), fairAcquire];
const releasing = [lockRelease, readRelease, writeRelease, fairRelease];
const renewing = [lockRenew, readRenew];
const freeing = [lockForceUnlock, readForceUnlock, writeForceUnlock, fairForceUnlock];

const acquisition: fc.Arbitrary<Acquisition> = fc.record({
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

/** As one call of the script may be about them; those that are wanted together have none of them yet. */
function alike({ locks, together }: AcquireCall): readonly Acquisition[] {
  const [{ leaseMs: lease, heldCount } = { leaseMs: 1, heldCount: 0 }] = locks;
  const held = together ? 0 : heldCount;
  const same = locks.map((lock) => ({ ...lock, leaseMs: lease, heldCount: held }));
  return [...same.filter(({ fenced }) => !fenced), ...same.filter(({ fenced }) => fenced)];
}

function freed(locks: readonly Release[]): readonly Release[] {
  return locks.length === 1 ? locks : locks.map((lock) => ({ ...lock, keptCount: 0, keptMs: [] }));
}

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
    fc.record({ key, queueKey: key, tokenKey: key, leasesKey: key }).map(lockInspect.encode),
  )
  .map((call) => ({ ...call, [fc.toStringMethod]: () => textOf(call) }));

/** For messages: the source of a script would bury the rest. */
export function textOf(action: Action): string {
  return JSON.stringify("script" in action ? [action.script.name, action.keys, action.args] : action);
}

const informed: fc.Arbitrary<InformedStep> = fc
  .record({
    acquisition,
    kind: fc.constantFrom(0, 1, 2, 3),
    act: fc.constantFrom("acquire", "release", "force-unlock", "refresh", "miscount"),
    // A release that frees the lock, and has no limit, is answered by a mere number.
    releasedBy: fc.constantFrom(epochFarOffMs, 0),
  })
  .map((given) => ({
    decide(stored: Snapshot) {
      const { act, kind, acquisition: lock, releasedBy } = given;
      const notAfterMs = epochFarOffMs;
      const entry = stored[lock.key];
      const seen = entry?.type === "hash" ? entry.value : {};
      const heldCount = Math.max(0, Math.min(9, Math.trunc(Number(seen[lock.holder])) || 0));
      if (act === "force-unlock")
        return (freeing[kind] ?? lockForceUnlock).encode({ ...lock, notAfterMs, seen });
      if (act === "refresh") {
        const queue = stored[fairQueueKey(lock.key)];
        const holders = queue?.type === "list" ? queue.value : [lock.holder];
        return fairRefresh.encode([{ key: lock.key, channel: lock.channel, holders }]);
      }
      if (act === "acquire") {
        return (acquiring[kind] ?? lockAcquire).encode({ notAfterMs, locks: [{ ...lock, heldCount }] });
      }
      const keptCount = act === "miscount" ? heldCount + 1 : Math.max(heldCount - 1, 0);
      const keptMs = Array.from({ length: keptCount }, () => lock.leaseMs);
      const counts = {
        heldCount: Math.max(heldCount, keptCount + 1),
        keptCount,
        keptMs,
        ttlMs: lock.leaseMs,
      };
      return (releasing[kind] ?? lockRelease).encode({
        notAfterMs: releasedBy,
        locks: [{ ...lock, ...counts }],
      });
    },
    [fc.toStringMethod]: () => `{ informed: ${JSON.stringify(given)} }`,
  }));

const word = fc.oneof(holder, fc.constantFrom("1", "2", "07", "1.5", "text"));
/** What not every server takes: `DECRBY` by it overflows, and some have no hexadecimal scores. */
const [lowest, hex] = isReference() ? [["-9223372036854775808"], ["0x10"]] : [[], []];
const increment = fc.constantFrom("1", "-3", "text", "9223372036854775807", ...lowest);
const ttl = fc.constantFrom("60000", "600000", "0", "-5", "soon", "1.5", "9223372036854775807");
const place = fc.constantFrom("0", "1", "-1", "-2", "5", "x");
const item = fc.constantFrom("one", "two");
const score = fc.constantFrom("1", "2.5", "-1", "1795209961773", "inf", ...hex, "nan", "one");
const bound = fc.oneof(
  score,
  fc.constantFrom("-inf", "+inf", "(inf", "(1", "(2.5", "(1795209961773", "(one", "0"),
);

type CommandsOn = (key: fc.Arbitrary<string>) => fc.Arbitrary<Action>;

/** The commands for one type of value. */
const families: readonly CommandsOn[] = [
  (on) =>
    fc.oneof(
      words("HSET", on, holder, word),
      words("HSET", on, holder, word, holder),
      words("HINCRBY", on, holder, increment),
      words("HDEL", on, holder, holder),
      words(fc.constantFrom("HGET", "HEXISTS", "HSTRLEN"), on, holder),
      // As many as there can be, as chance chooses among fewer.
      words("HRANDFIELD", on, "100"),
      words("HRANDFIELD", on, "100", "VALUES"),
      words(fc.constantFrom("HKEYS", "HLEN", "HGETALL"), on),
    ),
  (on) =>
    fc.oneof(
      words("SET", on, word),
      words("SET", on, word, fc.constantFrom("NX", "xx", "KEEP"), "PX", ttl),
      words(fc.constantFrom("GET", "INCR", "DECR"), on),
      words(fc.constantFrom("INCRBY", "DECRBY"), on, increment),
    ),
  (on) =>
    fc.oneof(
      words("RPUSH", on, item, item),
      words("LREM", on, fc.constantFrom("0", "1", "-1", "-2", "x"), item),
      words(fc.constantFrom("LRANGE", "LTRIM"), on, place, place),
      words("LPOS", on, item),
      words("LLEN", on),
    ),
  (on) =>
    fc.oneof(
      words("ZADD", on, score, word, score, holder),
      words("ZREM", on, word, holder),
      words("ZSCORE", on, holder),
      words("ZMSCORE", on, holder, word),
      words("ZRANGE", on, place, place),
      words("zrange", on, "0", "-1", fc.constantFrom("WITHSCORES", "withscores", "BACKWARDS")),
      words("zrange", on, bound, bound, "BYSCORE", "LIMIT", place, place, "WITHSCORES"),
      words("ZRANGE", on, bound, bound, fc.constantFrom("byscore", "LIMIT")),
      words("ZCARD", on),
      words("ZCOUNT", on, bound, bound),
      words("ZREMRANGEBYRANK", on, place, place),
    ),
];

const onAnyType: CommandsOn = (on) =>
  fc.oneof(
    words("PEXPIRE", on, ttl),
    words(fc.constantFrom("TYPE", "PTTL", "PERSIST"), on),
    words(fc.constantFrom("DEL", "EXISTS"), on, on),
    words("PUBLISH", channel, word),
    words(fc.constantFrom("GET", "HSET", "NOSUCH", "PEXPIRE", "LREM"), word),
  );

export function words(...parts: (string | fc.Arbitrary<string>)[]): fc.Arbitrary<string[]> {
  return fc.tuple(...parts.map((part) => (typeof part === "string" ? fc.constant(part) : part)));
}

/** Whatever else is done to a key, by whomever; and sometimes the server is full. */
export function meanwhile(on: fc.Arbitrary<string>): fc.Arbitrary<Step> {
  return fc.oneof(
    { weight: 4, arbitrary: fc.oneof(...[...families, onAnyType].map((commandsOn) => commandsOn(on))) },
    { weight: 1, arbitrary: fc.record({ full: fc.boolean() }) },
  );
}

/** Some steps are done twice, at once or after the next one, as a client's resent commands are. */
export function withRepeats(step: fc.Arbitrary<Step>): fc.Arbitrary<readonly Step[]> {
  return fc
    .array(fc.tuple(step, fc.constantFrom(0, 0, 0, 1, 2)), { minLength: 1, maxLength: 60, size: "max" })
    .map((steps) =>
      steps.flatMap(([one, again], at) => [one, ...(again > 0 ? [steps[at + 1 - again]?.[0] ?? one] : [])]),
    );
}

const lockStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: scripts },
  { weight: 6, arbitrary: informed },
  { weight: 5, arbitrary: meanwhile(key) },
);

/** Scripts and whatever else meets the keys of locks. */
export const lockHistory: fc.Arbitrary<readonly Step[]> = withRepeats(lockStep);

/** Commands for one type of value, mostly on one key. */
export const commandHistory: fc.Arbitrary<readonly Step[]> = fc.constantFrom(...families).chain((family) => {
  const on = fc.constantFrom("key", "key", "key", "other");
  const command = fc.oneof({ weight: 4, arbitrary: family(on) }, { weight: 1, arbitrary: onAnyType(on) });
  return fc.array(command, { minLength: 1, maxLength: 60, size: "max" });
});
