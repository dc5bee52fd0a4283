import type {
  ClientRow,
  FeedEvent,
  FeedSnapshot,
  LockDetail,
  LockRow,
  Me,
  Point,
} from "../../../src/inspector/format.js";
import { digestOf } from "./mock-server.js";

type Holder = LockRow["holders"][number];
type Waiter = LockRow["waiting"][number];

/** A moment that does not pass, for pages that are compared. */
export const AT_MS = Date.UTC(2026, 10, 22, 3, 12, 40);

function idOf(number: number, version = "8"): string {
  const digits = digestOf("client", String(number))
    .replace(/[^0-9a-f]/g, "")
    .padEnd(12, "0")
    .slice(0, 12);
  const serial = number.toString(16).padStart(8, "0");
  return `${digits.slice(0, 4)}${serial.slice(4)}-${digits.slice(4, 8)}-${version}${digits.slice(8, 11)}-a${serial.slice(0, 3)}-${digits.padEnd(12, "0")}`;
}

interface Program {
  readonly app: string;
  readonly host: string;
  readonly pid: number;
  readonly state?: "there" | "gone";
  readonly lastSeenMs?: number;
}

export function clientRow(
  number: number,
  { app, host, pid, state = "there", lastSeenMs = 1_800 }: Program,
): ClientRow {
  return {
    id: idOf(number),
    app,
    host,
    pid,
    startedMs: AT_MS - 7_200_000,
    lib: "holdfast 0.1.0",
    runtime: "node 24.11.0",
    labels: { pod: host, region: number % 3 === 0 ? "eu-west-1" : "eu-central-1" },
    state,
    lastSeenMs,
    everyMs: 5_000,
    holds: [],
    waits: [],
    more: { holds: 0, waits: 0, stats: 0 },
  };
}

export function holderOf(client: ClientRow, sinceMs: number, changes: Partial<Holder> = {}): Holder {
  return {
    holder: `${client.id}:1`,
    count: 1,
    by: "holdfast",
    client: refOf(client),
    sinceMs,
    renewed: true,
    note: null,
    ...changes,
  };
}

function refOf({ id, app, host, pid, state, lastSeenMs, labels }: ClientRow): NonNullable<Holder["client"]> {
  return { id, app, host, pid, state, lastSeenMs, labels };
}

function jvmHolder(number: number, thread: number): Holder {
  return {
    holder: `${idOf(number, "4")}:${thread}`,
    count: 1,
    by: "jvm",
    client: null,
    sinceMs: null,
    renewed: null,
    note: null,
  };
}

function waiterOf(client: ClientRow, forMs: number, holder: string | null = null): Waiter {
  return { holder, client: refOf(client), forMs, note: null };
}

export function lockRow(name: string, holders: readonly Holder[], changes: Partial<LockRow> = {}): LockRow {
  return {
    key: name,
    name,
    kind: "lock",
    ttlMs: 26_400,
    token: null,
    sources: ["presence"],
    holders,
    waiting: [],
    more: { holders: 0, waiting: 0 },
    flags: [],
    seen: digestOf(name, ...holders.map(({ holder }) => holder)),
    ...changes,
  };
}

const clients = {
  gone: clientRow(1, { app: "jobs", host: "pod-9", pid: 1, state: "gone", lastSeenMs: 43_000 }),
  api: clientRow(2, { app: "api", host: "web-7", pid: 3121 }),
  api2: clientRow(3, { app: "api", host: "web-3", pid: 877 }),
  api3: clientRow(4, { app: "api", host: "web-4", pid: 902 }),
  billing: clientRow(5, { app: "billing", host: "pod-2", pid: 17 }),
  billing2: clientRow(6, { app: "billing", host: "pod-4", pid: 17 }),
  ci: clientRow(7, { app: "ci", host: "runner-2", pid: 88 }),
  reports: clientRow(8, { app: "reports", host: "pod-5", pid: 31 }),
  search: clientRow(9, { app: "search-indexer", host: "pod-6", pid: 12 }),
  search2: clientRow(10, { app: "search-indexer", host: "pod-8", pid: 12 }),
  worker: clientRow(11, { app: "worker", host: "pod-3", pid: 44 }),
  worker2: clientRow(12, { app: "worker", host: "pod-7", pid: 44 }),
};

function locksOfNight(): LockRow[] {
  const { gone, api, api2, api3, billing, billing2, ci, reports, search, search2, worker, worker2 } = clients;
  return [
    lockRow("order:42", [holderOf(api, 41_000, { note: "invoice 42" })], {
      kind: "fenced-lock",
      token: "18014",
      ttlMs: 28_300,
      sources: ["presence", "channels"],
      waiting: [
        waiterOf(api2, 38_400, api2.id),
        waiterOf(api3, 21_000, api3.id),
        waiterOf(worker, 4_200, worker.id),
      ],
      listeners: 3,
    }),
    lockRow("report", [jvmHolder(57, 57)], {
      kind: "fair-lock",
      ttlMs: 21_700,
      sources: ["channels"],
      waiting: [
        waiterOf(reports, 12_500, `${reports.id}:3`),
        { holder: `${idOf(58, "4")}:12`, client: null, forMs: null, note: null },
      ],
      listeners: 2,
    }),
    lockRow("stock:eu:reserve", [holderOf(billing, 6_200, { note: "basket 8812" })], {
      ttlMs: 24_900,
      waiting: [waiterOf(billing2, 5_600, billing2.id)],
    }),
    lockRow("nightly", [holderOf(gone, 7_512_000, { renewed: false, note: "full rebuild" })], {
      ttlMs: 11_200,
      flags: ["stale", "fixed"],
    }),
    lockRow(
      "catalogue",
      [
        holderOf(search, 93_000, { note: "snapshot 77" }),
        holderOf(search2, 61_000),
        holderOf(api, 12_000),
        holderOf(reports, 8_000),
      ],
      { kind: "read-write-lock", ttlMs: 27_100, waiting: [waiterOf(worker2, 9_900)] },
    ),
    lockRow("deploy:prod", [holderOf(ci, 312_000, { note: "deploy.sh" })], {
      flags: ["max-hold"],
      ttlMs: 22_000,
    }),
    lockRow("migrate:2026-11", [jvmHolder(60, 1)], {
      ttlMs: -1,
      flags: ["no-ttl"],
      sources: ["channels"],
      listeners: 1,
    }),
    lockRow("mail:digest", [holderOf(worker, 15_400, { renewed: false })], {
      ttlMs: 44_600,
      flags: ["fixed"],
    }),
    lockRow("leader:scheduler", [holderOf(worker2, 18_230_000)], {
      kind: "fenced-lock",
      token: "212",
      ttlMs: 8_100,
    }),
    lockRow("invoice:2026-11-22:export", [holderOf(billing2, 128_000, { note: "DATEV, 18,204 rows" })], {
      ttlMs: 25_000,
    }),
    lockRow(
      "thumbnails",
      [
        holderOf(worker, 5_900, { holder: worker.id, count: 2 }),
        holderOf(gone, 640_000, { holder: gone.id, renewed: null, permanent: true }),
      ],
      {
        ...{ kind: "permit-expirable-semaphore", ttlMs: -1, flags: ["leaked"] },
        ...{ available: 2, takenCount: 3, permanentCount: 1 },
      },
    ),
    lockRow("search:reindex:products", [holderOf(search, 2_840_000)], { ttlMs: 29_300 }),
  ];
}

/** An hour of a fleet, with one bad quarter of it. */
function history(points: number): Point[] {
  return Array.from({ length: points }, (_, at): Point => {
    const wave = Math.sin(at / 9) + Math.sin(at / 23);
    const rush = at > points * 0.62 && at < points * 0.74 ? 9 : 0;
    const late = at > points - 34 ? 3 : 0;
    const waiting = Math.max(0, Math.round(2 + wave + rush + late));
    return {
      atMs: AT_MS - (points - 1 - at) * 10_000,
      waiting,
      acquired: Math.round(420 + 60 * wave + (rush > 0 ? -160 : 0)),
      contentions: waiting * 7,
      longestMs: Math.max(120, Math.round(900 + 500 * wave + rush * 2_600 + late * (at - points + 34) * 380)),
      losses: at === Math.round(points * 0.7) ? 2 : at === Math.round(points * 0.66) ? 1 : 0,
      busiest: [
        { key: "order:42", waiting: Math.max(0, waiting - 2) },
        { key: "stock:eu:reserve", waiting: Math.min(2, waiting) },
        { key: "report", waiting: at % 17 > 9 ? 2 : 1 },
        ...(rush > 0 ? [{ key: "catalogue", waiting: 5 }] : []),
      ],
    };
  });
}

function eventsOfNight(): FeedEvent[] {
  return [
    { id: 9, atMs: AT_MS - 14_000, type: "stale", key: "nightly", holder: "jobs@pod-9" },
    { id: 8, atMs: AT_MS - 28_000, type: "gone", client: "jobs@pod-9 pid 1" },
    {
      id: 7,
      atMs: AT_MS - 1_030_000,
      type: "lost",
      key: "stock:eu:reserve",
      client: "billing@pod-2 pid 17",
      reason: "not renewed in time",
    },
    {
      id: 6,
      atMs: AT_MS - 1_110_000,
      type: "lost",
      key: "order:42",
      client: "api@web-7 pid 3121",
      reason: "not renewed in time",
    },
    { id: 5, atMs: AT_MS - 1_120_000, type: "redis-back" },
    { id: 4, atMs: AT_MS - 1_148_000, type: "redis-away", reason: "connect ECONNREFUSED 10.0.4.12:6379" },
    {
      id: 3,
      atMs: AT_MS - 2_400_000,
      type: "forced",
      key: "deploy:prod",
      holder: "ci@runner-1",
      actor: "ada@example.org",
      reason: "inspector",
    },
  ];
}

function heldBy(client: ClientRow, locks: readonly LockRow[]): ClientRow {
  return {
    ...client,
    holds: locks.flatMap(({ key, kind, holders }) =>
      holders.flatMap(({ client: owner, sinceMs, count, note, renewed }) =>
        owner?.id === client.id
          ? [
              {
                key,
                kind,
                threadId: 1,
                count,
                ageMs: sinceMs ?? 0,
                renewed: renewed ?? false,
                handedOff: false,
                capped: false,
                note,
              },
            ]
          : [],
      ),
    ),
    waits: locks.flatMap(({ key, kind, waiting }) =>
      waiting.flatMap(({ client: owner, forMs }) =>
        owner?.id === client.id ? [{ key, kind, ageMs: forMs ?? 0, note: null }] : [],
      ),
    ),
  };
}

/** Three in the morning: a lock that three wait for, JVMs, a process that has died, an hour behind it. */
export function night(): FeedSnapshot {
  const locks = locksOfNight();
  const fleet = Object.values(clients).map((client) => heldBy(client, locks));
  return {
    atMs: AT_MS,
    locks,
    more: 0,
    clients: fleet,
    totals: {
      held: locks.length,
      waiting: locks.reduce((sum, { waiting }) => sum + waiting.length, 0),
      clients: fleet.length - 1,
      gone: 1,
      unknown: 2,
      jvms: 2,
    },
    history: history(360),
    events: eventsOfNight(),
    away: null,
    scan: null,
    blind: [],
  };
}

export function meOf(changes: Partial<Me> = {}): Me {
  return {
    role: "operate",
    actor: "ada@example.org",
    title: "Locks",
    server: "cache-2.internal:6379",
    redis: "Redis 7.4.1",
    holdfast: "0.1.0",
    refreshMs: 2_000,
    links: { client: "https://grafana.example.org/d/pods?pod={labels.pod}", trace: null },
    blind: [],
    ...changes,
  };
}

/** A semaphore with the ids of its permits, which rows of the feed do not have. */
function withPermits(row: LockRow | null): Pick<LockDetail, "lock" | "permits"> {
  if (row?.kind !== "permit-expirable-semaphore") return { lock: row };
  const holders = row.holders.map((holder, nth) => ({
    ...holder,
    permitIds: Array.from({ length: holder.count }, (_, at) =>
      `${nth}${at}${idOf(nth).replaceAll("-", "")}`.slice(0, 32),
    ),
  }));
  const permits = holders.flatMap(({ permitIds, permanent }) =>
    permitIds.map((id) => ({ id, endsInMs: permanent ? -1 : 24_800 })),
  );
  return { lock: { ...row, holders }, permits };
}

export function detailOf(snapshot: FeedSnapshot, key: string): LockDetail {
  const row = snapshot.locks.find((each) => each.key === key) ?? null;
  const { lock, permits } = withPermits(row);
  const [holder] = lock?.holders ?? [];
  const how =
    permits === undefined ? `unlock --holder ${holder?.holder}` : `release --client ${clients.gone.id}`;
  return {
    atMs: snapshot.atMs,
    lock,
    ...(permits && { permits }),
    unlock: holder === undefined ? null : `holdfast ${how} -- ${key}`,
    changes:
      lock === null
        ? []
        : [
            { atMs: snapshot.atMs - 4_000, type: "queue", text: "3 calls wait" },
            { atMs: snapshot.atMs - 21_000, type: "queue", text: "2 calls wait" },
            { atMs: snapshot.atMs - 41_000, type: "handed-over", text: "passed from api@web-3 to api@web-7" },
          ],
  };
}

/** As large as a feed may be. */
export function crowd(locks: number, size: number): FeedSnapshot {
  const fleet = Array.from({ length: size }, (_, at) =>
    clientRow(100 + at, { app: `app-${at % 12}`, host: `pod-${at}`, pid: at + 1 }),
  );
  const rows = Array.from({ length: Math.min(locks, 200) }, (_, at) => {
    const owner = fleet[at % size] ?? clients.api;
    const waiter = fleet[(at + 1) % size] ?? clients.api;
    return lockRow(`order:${at}`, [holderOf(owner, at * 977)], {
      waiting: at % 3 === 0 ? [waiterOf(waiter, at * 211)] : [],
    });
  });
  return {
    ...night(),
    locks: rows,
    more: Math.max(0, locks - rows.length),
    clients: fleet,
    totals: { held: locks, waiting: 67, clients: size, gone: 0, unknown: 0, jvms: 0 },
  };
}
