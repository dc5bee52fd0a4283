import { createHash } from "node:crypto";
import fc from "fast-check";
import type { KeySnapshot } from "../../../src/memory/index.js";
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
import { permitLeasesKey, requestsKey, savedPermitsKey } from "../../../src/protocol/names.js";
import type { ScriptCall } from "../../../src/protocol/script-call.js";
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
import { briefText } from "../run/brief.js";
import { type InformedStep, meanwhile, type Step, withRepeats, words } from "../servers/command-histories.js";
import { isReference } from "../servers/redis-program.js";
import { epochFarOffMs, type Names } from "../servers/server-histories.js";

const CLIENTS = ["client one", "client two"];

/** One has bytes that are text, others differ only at the end. */
const PERMIT_IDS = [
  "00000000000000000000000000000000",
  "ffffffffffffffffffffffffffffffff",
  "68c3b66c64666173740a0d0025313a22",
  "e40fee1edd2dcc3cbb4baa5a99698878",
  "e40fee1edd2dcc3cbb4baa5a99698879",
  "7f000000000000000000000000000000",
];

/** What may stand where a number is expected, or somebody for whom permits are saved up. */
const VALUES = [
  ...["-3", "0", "2", "2147483647", "2147483648", "9007199254740993"],
  ...["9223372036854775807", "-9223372036854775808", "1e300", "1.5", "007", "-0", ""],
  ...["inf", "abc", "abc:3", "client one:1:2"],
  // Not every server reads it as a score.
  ...(isReference() ? ["0x10"] : []),
];

/** A JVM's permits may be permanent, their leases may have ended, or end at any time. */
const ENDS_MS = ["922337203685477", "0", "-1", "-inf", "1", "1795209961773.5", String(epochFarOffMs)];

/** The first of the names is that of the most calls. */
function countOf({ objects: [first = "", ...others] }: Names): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant(first) },
    { weight: 1, arbitrary: fc.constantFrom(first, ...others) },
  );
}

function keysOf(name: string): fc.Arbitrary<string> {
  return fc.constantFrom(
    ...[name, permitLeasesKey(name), savedPermitsKey(name)],
    ...CLIENTS.map((client) => requestsKey(name, client)),
  );
}

/** Of the queue of those that wait for permits. */
const LINES = ["1", "2"].flatMap((client) =>
  [1, 3].map((permits) => `${client}0000000-0000-8001-8000-000000000000:${permits}`),
);

/** So few that they come again, and are cancelled before and after they arrive. */
const REQUESTS_OF_A_KIND = 4;

const givenOf = (names: Names) =>
  fc.record({
    count: countOf(names),
    counts: fc.constant(names.objects),
    client: fc.constantFrom(...CLIENTS),
    request: fc.nat(REQUESTS_OF_A_KIND - 1),
    notAfterMs: fc.oneof({ weight: 9, arbitrary: fc.constant(epochFarOffMs) }, fc.constant(1)),
    settled: fc.array(fc.nat(50).map(String), { maxLength: 10 }),
    channel: fc.constantFrom(...names.channels),
    owner: fc.constantFrom("client one:1", "client one:2", "client two:1"),
    permits: fc.integer({ min: 1, max: 3 }),
    saveMs: fc.constantFrom(0, 0, 60_000),
    ids: fc.uniqueArray(fc.constantFrom(...PERMIT_IDS), { minLength: 1, maxLength: 3 }),
    /** Otherwise the ids are chosen among those of which it makes sense. */
    anyIds: fc.constantFrom(true, false, false, false),
    leaseMs: fc.constantFrom(0, 60_000, 600_000),
    value: fc.integer({ min: 0, max: 6 }),
    ttlMs: fc.constantFrom(0, 0, 60_000, 600_000),
    mustExist: fc.boolean(),
    most: fc.constantFrom(6, 2_147_483_647),
    message: fc.constantFrom("", "0", "1"),
    line: fc.constantFrom(...LINES),
    way: fc.constantFrom("asks", "stands", "stays", undefined, undefined),
    countsAll: fc.boolean(),
  });

type Given = ReturnType<typeof givenOf> extends fc.Arbitrary<infer T> ? T : never;
type Call = Omit<Given, "request"> & {
  readonly request: RepeatableRequest;
  /** How many permits there are, in and out. */
  readonly total: number;
};

interface Verb {
  encode(call: Call): ScriptCall;
  /** Whether it is about permits that are out; otherwise about such as are not. */
  readonly out?: boolean;
}

/** Verbs about the same requests, and how often they are called. */
interface Kind {
  readonly weight: number;
  readonly verbs: readonly Verb[];
}

const kinds: readonly Kind[] = [
  {
    weight: 6,
    verbs: [semaphoreAcquire, { encode: (call) => semaphoreAcquire.encode(asking(call)) }, semaphoreCancel],
  },
  {
    weight: 9,
    verbs: [
      permitAcquire,
      { encode: (call) => permitAcquire.encode(asking(call)) },
      { ...permitCancel, out: true },
    ],
  },
  { weight: 2, verbs: [permitLeave] },
  { weight: 3, verbs: [{ ...permitRelease, out: true }] },
  {
    weight: 3,
    verbs: [
      { encode: (call) => permitSetLease.encode({ ...call, leaseMs: call.leaseMs + 60_000 }), out: true },
    ],
  },
  { weight: 3, verbs: [{ encode: (call) => permitSetTotal.encode({ ...call, total: call.value }) }] },
  { weight: 3, verbs: [countTrySet] },
  { weight: 3, verbs: [{ encode: (call) => semaphoreAdd.encode({ ...call, permits: call.value - 1 }) }] },
  { weight: 2, verbs: [semaphoreDrain] },
  { weight: 2, verbs: [latchCountDown] },
  {
    weight: 2,
    verbs: [
      {
        encode: (call) =>
          countDelete.encode({
            ...call,
            others: [permitLeasesKey(call.count), savedPermitsKey(call.count)],
          }),
      },
    ],
  },
  {
    weight: 5,
    verbs: [
      countLook,
      countLook,
      { encode: (call) => permitLook.encode({ ...call, id: call.ids[0] ?? "" }), out: true },
      { encode: renewal, out: true },
      { encode: renewal, out: true },
      { encode: confirmation, out: true },
    ],
  },
  { weight: 3, verbs: [{ encode: resizing }] },
];

/** Of a client that knows of others. */
function asking({ line, way, countsAll, ...call }: Call) {
  return { ...call, queued: way && { line, way, countsAll } };
}

/** Mostly of one who has seen what is stored. */
function resizing({ total, value, anyIds, ...call }: Call): ScriptCall {
  return semaphoreResize.encode({ ...call, seen: anyIds ? value : total, total: value });
}

function renewal({ counts, ids, leaseMs }: Call): ScriptCall {
  const holder = ids.join("");
  return permitRenew.encode(counts.map((key) => ({ key, holder, leaseMs: leaseMs + 60_000, holdMs: [] })));
}

function confirmation({ counts, ids }: Call): ScriptCall {
  return permitConfirm.encode(counts.map((key) => ({ key, holders: ids, slots: [] })));
}

function scriptsOf(names: Names): fc.Arbitrary<Step> {
  const given = givenOf(names);
  return fc.oneof(
    ...kinds.map(({ weight, verbs }, kind) => ({
      weight,
      arbitrary: fc.record({ verb: fc.constantFrom(...verbs), given }).map(stepOf(kind)),
    })),
  );
}

function stepOf(kind: number): (chosen: { readonly verb: Verb; readonly given: Given }) => InformedStep {
  return ({ verb, given: { request, ...call } }) => ({
    decide(stored) {
      const out = permitsOut(stored[permitLeasesKey(call.count)]);
      const sensible = verb.out ? out : PERMIT_IDS.filter((id) => !out.includes(id));
      const ids = call.anyIds || sensible.length === 0 ? call.ids : sensible.slice(0, call.permits);
      const id = String(REQUESTS_OF_A_KIND * kind + request);
      const requests = requestsKey(call.count, call.client);
      const count = stored[call.count];
      const total = out.length + (count?.type === "string" ? Number(count.value) || 0 : 0);
      return verb.encode({ ...call, ids, total, request: { ...call, requests, id, memoryMs: 60_000 } });
    },
    [fc.toStringMethod]: () => briefText(JSON.stringify({ kind, request, ...call })),
  });
}

function permitsOut(leases: KeySnapshot | undefined): string[] {
  if (leases?.type !== "zset") return [];
  return Object.keys(leases.value).map((id) =>
    id.startsWith("0x") ? id.slice("0x".length) : Buffer.from(id, "utf8").toString("hex"),
  );
}

/** Stores a permit as a JVM does, or lets the lease of one end. */
const STORE_LEASE = `
  local id = string.gsub(ARGV[1], "..", function(digits) return string.char(tonumber(digits, 16)) end)
  redis.pcall("ZADD", KEYS[1], ARGV[2], id)
  return {}`;

const jvmLeaseOf = (names: Names): fc.Arbitrary<Step> =>
  fc
    .tuple(countOf(names), fc.constantFrom(...PERMIT_IDS, "abcd"), fc.constantFrom(...ENDS_MS))
    .map(([name, ...args]) => ({
      script: {
        name: "store-lease",
        lua: STORE_LEASE,
        sha1: createHash("sha1").update(STORE_LEASE).digest("hex"),
      },
      keys: [permitLeasesKey(name)],
      args,
    }));

/** The scripts of semaphores and latches, and whatever else meets their keys: a JVM's values, in some also anybody's. */
export function synchronizerHistories(names: Names): fc.Arbitrary<readonly Step[]> {
  const keys = countOf(names).chain(keysOf);
  const orderly: fc.Arbitrary<Step> = fc.oneof(
    { weight: 20, arbitrary: scriptsOf(names) },
    { weight: 1, arbitrary: jvmLeaseOf(names) },
    { weight: 1, arbitrary: fc.record({ full: fc.boolean() }) },
    { weight: 1, arbitrary: words(fc.constantFrom("DEL", "PERSIST"), keys) },
    { weight: 1, arbitrary: words("PEXPIRE", keys, "60000") },
  );
  const disturbed: fc.Arbitrary<Step> = fc.oneof(
    { weight: 8, arbitrary: orderly },
    { weight: 1, arbitrary: words("SET", keys, fc.constantFrom(...VALUES)) },
    { weight: 1, arbitrary: meanwhile(keys) },
  );
  return fc.oneof(withRepeats(orderly), withRepeats(disturbed));
}
