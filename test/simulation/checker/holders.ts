import type { ScriptCall } from "../../../src/protocol/script-call.js";
import type { Member } from "../workload/member.js";
import type { SimServer } from "../world/sim-server.js";
import type { VirtualTime } from "../world/virtual-time.js";
import { isOfGiven } from "./fields.js";
import type { Keyspace, StoredLock } from "./keyspace.js";

/**
 * How a holder's field has left the hash of its lock: its key has run out; `forceUnlock` removed it; its own client did; or, as after a
 * loss of data, anything else.
 */
export type How = "ran out" | "by force" | "by its client" | "otherwise";

/** A holder has gone from Redis. */
export interface Departure {
  /** The id of the holder's client. */
  readonly client: string;
  readonly field: string;
  readonly atUs: number;
  readonly how: How;
  /** The process whose script it was; undefined: none. */
  readonly by: string | undefined;
  /** Each `forceUnlock` that may have done it, as long as that has not resolved. */
  readonly forcing: Set<object>;
}

const US = 1_000;
/** A TTL is told in whole milliseconds. */
const GRAIN_US = US;

/** A late copy may do what no call waits for any more: that is told to nobody. */
const NO_CALL = {};

/** Remembers how the holders of each lock have gone from Redis. */
export class Holders {
  readonly #time: VirtualTime;
  readonly #keyspace: Keyspace;
  /** By name. */
  readonly #departures = new Map<string, Departure[]>();
  /** The process by whose own acquisition each field came that is there; nobody's: it was granted, or handed on. */
  readonly #askers = new Map<string, string | undefined>();
  /** By name and field: the latest moment at which its key was ever to run out. */
  readonly #endsUs = new Map<string, number>();
  /** By name and field: the latest moment at which a lease was to end that its client has handed on to it before Redis was told. */
  readonly #handedOnUs = new Map<string, number>();
  /** By process, name and time: the fields of its own that its acquisition has left there then, until it has heard of that. */
  readonly #unheard = new Map<string, readonly string[]>();
  /** By process, name and field: what it has there by an answer that it has heard, or has handed on to it. */
  readonly #heard = new Set<string>();
  /** By name and process: each `forceUnlock` that has not resolved. */
  readonly #forcing = new Map<string, Set<object>>();
  /** By the id of its client. */
  readonly #members = new Map<string, Member>();

  constructor(time: VirtualTime, keyspace: Keyspace) {
    this.#time = time;
    this.#keyspace = keyspace;
  }

  takesPart(member: Member): void {
    for (const { clientId } of member.clients) this.#members.set(clientId, member);
  }

  /** The process that a holder is of. */
  memberOf(holder: string): Member | undefined {
    return this.#members.get(clientOf(holder));
  }

  knows(name: string): boolean {
    return this.#keyspace.knows(name);
  }

  /** A script is about to run: what is gone now went without one. */
  starts(server: SimServer, { keys }: ScriptCall): void {
    for (const key of keys) {
      this.#look(server, key, undefined, ({ endsUs }) =>
        endsUs <= this.#time.nowUs + GRAIN_US ? "ran out" : "otherwise",
      );
    }
  }

  /**
   * A script has run.
   * @returns the holders, each with its count, that it has freed by force, and that were not seen so by the process which sent it
   */
  ran(server: SimServer, { keys, args, script }: ScriptCall, by: string): readonly string[] {
    const isForce = script.name.endsWith("force-unlock");
    const asker = script.name.endsWith("acquire") ? by : undefined;
    const unseen: string[] = [];
    for (const key of keys) {
      const arrived = this.#look(server, key, by, ({ fields }, client, field) => {
        const count = fields.get(field);
        if (isForce && !args.some((arg, at) => arg === field && args[at + 1] === count)) {
          unseen.push(`${field}, ${count} times`);
        }
        if (isForce) return "by force";
        return this.#members.get(client)?.process.name === by ? "by its client" : "otherwise";
      });
      // Who asks may see to it that the next one of a queue is given the lock.
      for (const field of arrived)
        this.#askers.set(`${key} ${field}`, args.includes(field) ? asker : undefined);
      this.#leaves(server, { key, args, script, by, arrived });
    }
    return unseen;
  }

  /** What a script has left of the fields that it names is known to its process once that hears the answer; at once, where it hands a lock on. */
  #leaves(
    server: SimServer,
    {
      key,
      args,
      script,
      by,
      arrived,
    }: Pick<ScriptCall, "args" | "script"> & {
      readonly key: string;
      readonly by: string;
      readonly arrived: readonly string[];
    },
  ): void {
    for (const field of arrived) this.#heard.delete(`${by} ${key} ${field}`);
    const own = [...this.#keyspace.latest(server, key).fields.keys()].filter((field) => args.includes(field));
    if (script.name === "lock-succeed") for (const field of own) this.#heard.add(`${by} ${key} ${field}`);
    else if (script.name.endsWith("acquire") && own.length > 0)
      this.#unheard.set(`${by} ${key} ${this.#time.nowUs}`, own);
  }

  /** A process hears the answer to a command that has run at that time. */
  heard(process: string, keys: readonly string[], ranUs: number): void {
    for (const key of keys) {
      const ran = `${process} ${key} ${ranUs}`;
      for (const field of this.#unheard.get(ran) ?? []) this.#heard.add(`${process} ${key} ${field}`);
      this.#unheard.delete(ran);
    }
  }

  /** Whether a process had a lock at some time since then, as its server has it, and as it has heard. */
  hasHeardOfOwn(name: string, process: string, sinceUs: number): boolean {
    if (!this.#keyspace.knows(name)) return false;
    return this.#keyspace
      .since(name, sinceUs)
      .some(({ fields }) =>
        [...fields.keys()].some((field) => this.#heard.has(`${process} ${name} ${field}`)),
      );
  }

  /** Whether Redis has given a lock to a holder as the answer to its own acquisition. */
  wasAnswered(name: string, holder: string): boolean {
    const asker = this.#askers.get(`${name} ${holder}`) ?? this.#askers.get(`${name} ${holder}:write`);
    return asker !== undefined && asker === this.memberOf(holder)?.process.name;
  }

  /** A process calls `forceUnlock`. @returns is to be called when that resolves */
  forces(name: string, by: string): () => void {
    const call = {};
    const at = `${name} ${by}`;
    const forcing = this.#forcing.get(at) ?? new Set();
    this.#forcing.set(at, forcing.add(call));
    return () => {
      forcing.delete(call);
      for (const departure of this.#departures.get(name) ?? []) departure.forcing.delete(call);
    };
  }

  /** How the fields of a holder's client have gone since then. */
  departures(name: string, holder: string, sinceUs: number): readonly Departure[] {
    const client = clientOf(holder);
    return (this.#departures.get(name) ?? []).filter((one) => one.client === client && one.atUs >= sinceUs);
  }

  /** Whether Redis has let go of a field of a holder's client since then, in one of these ways. */
  hasGone(name: string, holder: string, sinceUs: number, hows: readonly How[]): boolean {
    return this.departures(name, holder, sinceUs).some(({ how }) => hows.includes(how));
  }

  /** Whether a holder was freed by force between two moments, and has not come back since. */
  wasForced(name: string, holder: string, fromUs: number, untilUs: number): boolean {
    const forced = this.departures(name, holder, fromUs).some(
      ({ field, how, atUs }) => field === holder && how === "by force" && atUs < untilUs,
    );
    return forced && this.#keyspace.since(name, untilUs).every(({ fields }) => !fields.has(holder));
  }

  /** When the key of a lock was to run out, at the latest, while a holder had it; undefined: it was never seen there. */
  endUs(name: string, holder: string): number | undefined {
    return this.#endsUs.get(`${name} ${holder}`);
  }

  /** A lease has been handed out: of one that its client has handed on Redis is yet to be told, and gives it all of its time then. */
  handedOut(name: string, holder: string, leaseMs: number): void {
    const { nowUs } = this.#time;
    const fields = [holder, `${holder}:write`];
    const isStored = this.#keyspace
      .since(name, nowUs)
      .some((state) => fields.some((field) => state.fields.has(field)));
    if (isStored) return;
    const at = `${name} ${holder}`;
    this.#handedOnUs.set(at, Math.max(nowUs + leaseMs * US, this.#handedOnUs.get(at) ?? 0));
  }

  /** When its lease was to end, at the latest, also of one that was handed on, of which Redis is yet to be told; undefined: it had none. */
  lastsUntilUs(name: string, holder: string): number | undefined {
    const ends = [this.endUs(name, holder), this.#handedOnUs.get(`${name} ${holder}`)];
    const known = ends.filter((end) => end !== undefined);
    return known.length === 0 ? undefined : Math.max(...known);
  }

  /** @returns the fields that are new */
  #look(
    server: SimServer,
    key: string,
    by: string | undefined,
    how: (before: StoredLock, client: string, field: string) => How,
  ): readonly string[] {
    const seen = this.#keyspace.look(server, key);
    if (seen === undefined) return [];
    const { before, after } = seen;
    const departures = this.#departures.get(key) ?? [];
    this.#departures.set(key, departures);
    for (const field of before.fields.keys()) {
      const client = clientOf(field);
      if (after.fields.has(field) || client === "") continue;
      const forcing = new Set(this.#forcing.get(`${key} ${by}`));
      if (forcing.size === 0) forcing.add(NO_CALL);
      const departure = {
        client,
        field,
        atUs: this.#time.nowUs,
        how: how(before, client, field),
        by,
        forcing,
      };
      // What was given to a client, and not taken by it, no call of it has lost.
      if (!isOfGiven(field)) departures.push(departure);
    }
    for (const field of after.fields.keys()) {
      const at = `${key} ${field}`;
      this.#endsUs.set(at, Math.max(after.endsUs, this.#endsUs.get(at) ?? 0));
    }
    return [...after.fields.keys()].filter((field) => !before.fields.has(field));
  }
}

/** Fields that are no holder's have no client. */
function clientOf(field: string): string {
  return field.includes(":") ? field.slice(0, field.indexOf(":")) : "";
}
