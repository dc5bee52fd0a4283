import { type AcquireEvent, events, type LeaseLostEvent } from "../../../src/events.js";
import type { RawReply, ScriptCall } from "../../../src/protocol/script-call.js";
import type { Member } from "../workload/member.js";
import type { SimServer } from "../world/sim-server.js";
import type { Checker } from "./checker.js";
import { SLEEP } from "./slept-through.js";
import type { Trouble } from "./trouble.js";

/** What `presence-tell` is called with: see there. */
const CLIENT_ARG = 1;
const BEAT_ARG = 2;
const EVERY_ARG = 3;
const KEEP_ARG = 5;
const LIVE_ARG = 7;
const BEATS_MISSED = 3;
/** So many of the latest losses are told. */
const MOST_LOSSES = 10;
/** What is counted by key. */
const BY_KEY = ["refused", "lost", "waited", "waitMs"] as const;
/** Times are told in whole milliseconds, and each event looks at the clock by itself. */
const ROUNDED_MS = 1;
/** Each of several locks is acquired by itself, and red ones are taken again. */
const JOINT = /^(?:multi|red)$/;

/** What happened to the calls and holds of a client, as events told, or as its beats did. */
interface Counts {
  acquired: number;
  /** By key. */
  readonly refused: Map<string, number>;
  readonly lost: Map<string, number>;
  /** How many have waited, and for how long in milliseconds, with those that were refused: of events the least that there can be. */
  readonly waited: Map<string, number>;
  readonly waitMs: Map<string, number>;
}

/** Those that no call knows to be exact: events do not tell who has slept. */
interface Most {
  readonly waited: Map<string, number>;
  readonly waitMs: Map<string, number>;
}

/** What has reached a server of the beats of one client. */
interface Told extends Counts {
  readonly member: Member;
  /** The numbers of the beats that were accepted. */
  readonly beats: Set<string>;
  /** What the last one has told: one that tells nothing new tells the same. */
  live: Live | undefined;
}

/** The part of what is told that is counted. */
interface Live {
  readonly acquired: number;
  readonly stats: readonly (readonly [string, string, number, number, number, number, number])[];
  readonly lost: readonly (readonly [string, string, number])[];
}

/** The loss of a hold, as its event told it. */
interface Loss {
  readonly key: string;
  readonly reason: string;
}

/**
 * What all beats of a client tell adds up to what its calls were given, refused and lost, by its events. A beat may be told twice where
 * the answer to it was lost; nothing is ever left out.
 */
export class ToldCounts {
  readonly #checker: Checker;
  readonly #trouble: Trouble;
  readonly #told = new Map<string, Told>();
  readonly #seen = new Map<string, Counts>();
  readonly #most = new Map<string, Most>();
  readonly #losses = new Map<string, Loss[]>();
  readonly #isWhole: boolean;
  readonly #end: (() => void)[] = [];

  /** @param kinds those that the run is about */
  constructor(checker: Checker, trouble: Trouble, kinds: readonly string[]) {
    this.#checker = checker;
    this.#trouble = trouble;
    this.#isWhole = !kinds.some((kind) => JOINT.test(kind));
  }

  takesPart(member: Member): void {
    if (member.plan.options.presence === undefined) return;
    for (const { clientId } of member.clients) {
      this.#told.set(clientId, { member, beats: new Set(), live: undefined, ...none() });
    }
  }

  /** Events are told only while somebody listens: without that nothing is compared in the end. */
  begin(): void {
    if (!this.#isWhole) return;
    const { acquire, leaseLost } = events;
    const ended = { asyncEnd: (event: AcquireEvent) => this.#ended(event) };
    acquire.subscribe(ended);
    const lost = ({ clientId, name, reason }: LeaseLostEvent) => {
      add(this.#of(clientId).lost, name, 1);
      this.#losses.set(clientId, [...(this.#losses.get(clientId) ?? []), { key: name, reason }]);
    };
    leaseLost.subscribe(lost);
    this.#end.push(
      () => acquire.unsubscribe(ended),
      () => leaseLost.unsubscribe(lost),
    );
  }

  #ended({ clientId, name, outcome, via, waitedMs = 0 }: AcquireEvent): void {
    const [seen, most] = [this.#of(clientId), this.#mostOf(clientId)];
    const isRefused = outcome === "refused" || outcome === "timeout";
    if (outcome === "acquired") {
      seen.acquired += 1;
      // A lock is handed on only to a call that sleeps.
      if (via === "hand-off") add(seen.waited, name, 1);
      add(most.waited, name, 1);
    }
    if (isRefused) add(seen.refused, name, 1);
    if (isRefused || via === "hand-off") add(seen.waitMs, name, Math.max(0, waitedMs - ROUNDED_MS));
    if (isRefused || outcome === "acquired") add(most.waitMs, name, waitedMs + ROUNDED_MS);
  }

  end(): void {
    for (const end of this.#end.splice(0)) end();
  }

  ran(server: SimServer, { script, args, keys }: ScriptCall, answer: RawReply | Error): void {
    if (script.name !== "presence-tell" || !Array.isArray(answer) || answer[1] === "late") return;
    this.#isKept(server, keys, Math.max(Number(args[EVERY_ARG]), Number(answer[1])), Number(args[KEEP_ARG]));
    const told = this.#told.get(String(args[CLIENT_ARG]));
    const beat = String(args[BEAT_ARG]);
    if (told === undefined || told.beats.has(beat)) return;
    told.beats.add(beat);
    const text = String(args[LIVE_ARG]);
    if (text !== "") told.live = JSON.parse(text) as Live;
    if (told.live === undefined) return;
    told.acquired += told.live.acquired;
    for (const [key, , waited, refused, lost, waitMs, longestMs] of told.live.stats) {
      add(told.waited, key, waited);
      add(told.refused, key, refused);
      add(told.lost, key, lost);
      add(told.waitMs, key, waitMs);
      if (longestMs > waitMs || (waited + refused) * (longestMs + ROUNDED_MS) < waitMs)
        this.#complain(
          told,
          `tells of ${waited + refused} waits of ${waitMs} ms, the longest of ${longestMs} ms`,
        );
    }
    this.#isNotMore(String(args[CLIENT_ARG]), told);
  }

  /** What a client tells is there for as long as it is to outlive the client, from each beat on, and so is the list of the clients. */
  #isKept(server: SimServer, keys: readonly string[], everyMs: number, keepMs: number): void {
    for (const key of keys) {
      const ttlMs = server.ttlMs(key);
      if (ttlMs >= BEATS_MISSED * everyMs + keepMs) continue;
      this.#checker.fail(
        "truth",
        `"${key}" lasts for ${ttlMs} ms after a beat, and was to for ${keepMs} more`,
      );
    }
  }

  #isNotMore(clientId: string, told: Told): void {
    if (this.#end.length === 0 || this.#isHurt(told)) return;
    const seen = this.#of(clientId);
    if (told.acquired > seen.acquired)
      this.#complain(told, `tells of ${told.acquired} acquisitions, and made ${seen.acquired}`);
    const mostOf = { ...seen, ...this.#mostOf(clientId) };
    for (const what of BY_KEY) {
      for (const [key, count] of told[what]) {
        const most = mostOf[what].get(key) ?? 0;
        if (count > most) this.#complain(told, `tells of ${count} ${what} of "${key}", and had ${most}`);
      }
    }
  }

  /** When all is at rest, and so each client that lives has told all that there is to tell. */
  compare(): void {
    if (this.#end.length === 0) return;
    for (const [clientId, told] of this.#told) {
      const { process } = told.member;
      if (process.isDead || told.member.isClosing || told.beats.size === 0) continue;
      const seen = this.#of(clientId);
      if (told.acquired < seen.acquired)
        this.#complain(told, `has told of ${told.acquired} acquisitions of ${seen.acquired}`);
      // An event may be told much later than its call has ended: between the two its process may have stood still.
      const hasSlept = this.#trouble.has(process.name, 0, SLEEP);
      const whole = hasSlept ? BY_KEY.filter((what) => what !== "waitMs") : BY_KEY;
      for (const what of whole) {
        for (const [key, count] of seen[what]) {
          const has = told[what].get(key) ?? 0;
          if (has < count) this.#complain(told, `has told of ${has} ${what} of "${key}" of ${count}`);
        }
      }
      this.#compareLosses(clientId, told);
    }
  }

  /** The latest losses are told one by one. */
  #compareLosses(clientId: string, told: Told): void {
    const losses = (this.#losses.get(clientId) ?? []).slice(-MOST_LOSSES);
    const named = (told.live?.lost ?? []).map(([key, reason]) => `"${key}" by ${reason}`);
    const expected = losses.map(({ key, reason }) => `"${key}" by ${reason}`);
    if (named.join() === expected.join()) return;
    this.#complain(told, `tells of the losses ${named.join(", ")}, and had ${expected.join(", ")}`);
  }

  /** A beat whose answer is lost is told again. */
  #isHurt({ member }: Told): boolean {
    return this.#trouble.has(member.process.name, 0);
  }

  #complain({ member }: Told, text: string): void {
    this.#checker.fail("truth", `a beat of ${member.process.name} ${text}`);
  }

  #mostOf(clientId: string): Most {
    const most = this.#most.get(clientId) ?? { waited: new Map(), waitMs: new Map() };
    this.#most.set(clientId, most);
    return most;
  }

  #of(clientId: string): Counts {
    const counts = this.#seen.get(clientId) ?? none();
    this.#seen.set(clientId, counts);
    return counts;
  }
}

function none(): Counts {
  return { acquired: 0, refused: new Map(), lost: new Map(), waited: new Map(), waitMs: new Map() };
}

function add(counts: Map<string, number>, key: string, more: number): void {
  if (more > 0) counts.set(key, (counts.get(key) ?? 0) + more);
}
