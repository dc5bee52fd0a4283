import { events } from "../../../src/events.js";
import type { RawReply, ScriptCall } from "../../../src/protocol/script-call.js";
import type { Member } from "../workload/member.js";
import type { SimServer } from "../world/sim-server.js";
import type { Checker } from "./checker.js";
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
/** Each of several locks is acquired by itself, and red ones are taken again. */
const JOINT = /^(?:multi|red)$/;

/** What happened to the calls and holds of a client, as events told, or as its beats did. */
interface Counts {
  acquired: number;
  /** By key. */
  readonly refused: Map<string, number>;
  readonly lost: Map<string, number>;
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
    const ended = {
      asyncEnd: ({ clientId, name, outcome }: { clientId: string; name: string; outcome?: string }) => {
        const seen = this.#of(clientId);
        if (outcome === "acquired") seen.acquired += 1;
        if (outcome === "refused" || outcome === "timeout") add(seen.refused, name, 1);
      },
    };
    acquire.subscribe(ended);
    const lost = ({ clientId, name, reason }: { clientId: string; name: string; reason: string }) => {
      add(this.#of(clientId).lost, name, 1);
      this.#losses.set(clientId, [...(this.#losses.get(clientId) ?? []), { key: name, reason }]);
    };
    leaseLost.subscribe(lost);
    this.#end.push(
      () => acquire.unsubscribe(ended),
      () => leaseLost.unsubscribe(lost),
    );
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
    for (const [key, , , refused, lost] of told.live.stats) {
      add(told.refused, key, refused);
      add(told.lost, key, lost);
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
    for (const what of ["refused", "lost"] as const) {
      for (const [key, count] of told[what]) {
        const most = seen[what].get(key) ?? 0;
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
      for (const what of ["refused", "lost"] as const) {
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

  #of(clientId: string): Counts {
    const counts = this.#seen.get(clientId) ?? none();
    this.#seen.set(clientId, counts);
    return counts;
  }
}

function none(): Counts {
  return { acquired: 0, refused: new Map(), lost: new Map() };
}

function add(counts: Map<string, number>, key: string, more: number): void {
  if (more > 0) counts.set(key, (counts.get(key) ?? 0) + more);
}
