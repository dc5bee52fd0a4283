import type { Redis } from "ioredis";
import type { Scenario } from "./scenario.js";

/** A key as it is stored. */
interface Stored {
  /** As JSON. Times are left out, as they are others at each run. */
  readonly value: string;
  readonly ends: boolean;
}

export type Snapshot = Readonly<Record<string, Stored>>;

/** A fencing counter: numbers may be left out, none comes twice. */
const COUNTER = /^redisson_lock_token:/;

const ALL_KEYS = `
  local all = {}
  for _, key in ipairs(redis.call("KEYS", "*")) do
    local kind, value = redis.call("TYPE", key).ok, nil
    if kind == "hash" then value = redis.call("HGETALL", key)
    elseif kind == "list" then value = redis.call("LRANGE", key, 0, -1)
    elseif kind == "zset" then value = redis.call("ZRANGE", key, 0, -1, "WITHSCORES")
    else value = redis.call("GET", key) end
    all[#all + 1] = { key, kind, value, redis.call("PTTL", key) }
  end
  return all
`;

type Row = readonly [key: string, kind: string, value: string | readonly string[], ttlMs: number];

export async function snapshot(admin: Redis): Promise<Snapshot> {
  const rows = (await admin.eval(ALL_KEYS, 0)) as readonly Row[];
  return Object.fromEntries(
    rows.map(([key, kind, value, ttlMs]) => {
      const text = JSON.stringify(readable(kind, value)).replace(/\d{13}(?:\.\d+)?/g, "T");
      return [key, { value: text, ends: ttlMs >= 0 }];
    }),
  );
}

function readable(kind: string, value: string | readonly string[]): unknown {
  if (typeof value === "string") return value;
  if (kind === "zset") return [...value].sort();
  if (kind === "list") return value;
  const fields = value.flatMap((field, at) => (at % 2 === 0 ? [[field, value[at + 1]] as const] : []));
  return Object.fromEntries([...fields].sort(([one], [other]) => (one < other ? -1 : 1)));
}

function told(all: Snapshot, key: string): string {
  const stored = all[key];
  return stored === undefined ? "absent" : `${stored.value}${stored.ends ? "" : " without a TTL"}`;
}

/** The keys in which two differ. */
function different(one: Snapshot, other: Snapshot): readonly string[] {
  const keys = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...keys].filter((key) => !COUNTER.test(key) && told(one, key) !== told(other, key));
}

/** Where a client's requests are remembered. A request whose effect was refused is there as "undone". */
const MEMORY = /^holdfast_req:/;

/** As {@link different}, but for what is remembered of requests. */
export function differentEffect(one: Snapshot, other: Snapshot): readonly string[] {
  return different(one, other).filter((key) => !MEMORY.test(key));
}

/** What a call finds, and what it leaves when nothing is refused. */
export interface Control {
  readonly before: Snapshot;
  readonly after: Snapshot;
}

/** What breaks a promise: keys without an end, and numbers that have moved more than once. */
export function broken(now: Snapshot, control: Control, scenario: Scenario): readonly string[] {
  return [...endless(now, control), ...counts(now, control, scenario)];
}

/** Keys that were made without a TTL, or have lost it, although the call leaves them none like that. */
function endless(now: Snapshot, { before, after }: Control): readonly string[] {
  const lasts = (all: Snapshot, key: string) => all[key]?.ends === false;
  const keys = Object.keys(now).filter((key) => lasts(now, key) && !lasts(before, key) && !lasts(after, key));
  return keys.map((key) => `${key} stays for ever: ${told(now, key)}`);
}

/** Numbers that are neither as before nor as after one call. */
function counts(now: Snapshot, control: Control, { between = [] }: Scenario): readonly string[] {
  const keys = Object.keys(now).filter((key) => !COUNTER.test(key));
  return keys.flatMap((key) => {
    const [before, after] = [numbersIn(control.before, key), numbersIn(control.after, key)];
    return Object.entries(numbersIn(now, key))
      .filter(([name, number]) => ![before[name], after[name], ...between].includes(number))
      .map(([name, number]) => `${key} ${name} is ${number}: not ${before[name]}, and not ${after[name]}`);
  });
}

/** What of a key is a count: a string, or the fields of a hash. */
function numbersIn(all: Snapshot, key: string): Readonly<Record<string, string>> {
  const value: unknown = JSON.parse(all[key]?.value ?? "null");
  const fields = typeof value === "string" ? { value } : Array.isArray(value) ? {} : (value ?? {});
  return Object.fromEntries(Object.entries(fields).filter(([, field]) => /^-?\d+$/.test(String(field))));
}
