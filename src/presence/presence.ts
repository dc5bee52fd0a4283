import { textFrom } from "../checks.js";
import type { Client } from "../client.js";
import { environment } from "../environment.js";
import { ClientClosedError } from "../errors.js";
import { events } from "../events.js";
import { presenceClientsKey } from "../protocol/names.js";
import { presenceLeave, presenceTell, type TellAnswer } from "../protocol/presence-scripts.js";
import { wasForbidden } from "../runtime/command-failures.js";
import type { CountedCalls } from "../runtime/tally.js";
import { activityOf } from "./activity.js";
import { encodeLive, type LiveText } from "./live-format.js";
import { encodeMeta } from "./meta.js";
import { BEATS_MISSED, type PresenceSettings, UNKNOWN_GROUP_MS } from "./presence-options.js";

/** A client's report outlives the client, so that a dead holder can be named. */
const KEEP_MS = 3_600_000;
/**
 * Each beat is delayed at random, by up to this share of its period. Otherwise clients that were started together would always report
 * together.
 */
const JITTER_SHARE = 0.2;
/**
 * The time limit of a try, as a share of the period; and the pause from a failed try to the next. So a client stays "there" through a late
 * beat, a connection that is lost for a whole period, and a slow try: together these take less than three periods.
 */
const TRY_SHARE = 0.5;

/** One beat's report, with the counts since the previous beat. */
interface ToldBeat {
  readonly live: LiveText;
  readonly acquired: number;
  readonly counted: CountedCalls;
}

/**
 * Reports to the client's group every few seconds: the client is alive, this is its description, these are its holds. Such a report is a
 * beat. A failed beat does not delay or fail other work. The next beat repeats what the failed beat could not report. It comes early while
 * the group still counts the client as alive.
 */
export class Presence {
  readonly #client: Client;
  readonly #settings: PresenceSettings;
  readonly #key: string;
  readonly #bornMs: number;
  /** The pause before the next beat, unless the answer to this beat sets another pause. */
  #everyMs: number;
  /** When the latest try began, and until when the group counts the client as alive by the latest answer; both on the monotonic clock. */
  #triedMs = 0;
  #believedMs = 0;
  /** Whether Redis has at least once had a higher beat number than this client. */
  #wasAhead = false;
  #beats = 0;
  #acquired = 0;
  #needsMeta = true;
  /** The last report; undefined if it is not known. */
  #print: string | undefined;
  #isSent = false;
  #isOver = false;

  /** @param bornMs when the client was created, on the monotonic clock */
  constructor(client: Client, settings: PresenceSettings, bornMs: number) {
    this.#client = client;
    this.#settings = settings;
    this.#key = presenceClientsKey(settings.group);
    this.#bornMs = bornMs;
    this.#everyMs = Math.max(settings.everyMs, UNKNOWN_GROUP_MS);
  }

  /** The client is closed: it stops reporting, and removes its report if Redis answers within a command timeout. */
  leave(): void {
    const [client, key] = [this.#client, this.#key];
    if (this.#isOver) return;
    this.#end();
    if (!this.#isSent) return;
    const teller = { group: this.#settings.group, clientId: client.id };
    client.inBackground(() => client.commands.exchange(presenceLeave, key, () => teller));
  }

  /** There will be no more reports, so nothing needs to be counted. */
  #end(): void {
    this.#isOver = true;
    this.#client.tally = undefined;
  }

  /** @param waitMs the pause, counted from the start of the latest try */
  #next(waitMs: number): void {
    if (this.#isOver) return;
    const leftMs = this.#triedMs + waitMs - this.#client.clock.monotonicMs();
    // A beat that is due follows with the next tick, not within this call.
    this.#client.after(Math.max(leftMs, 1), this.beat);
  }

  /** Once the group counts the client as gone, the next try need not come early. */
  get #tryMs(): number {
    const isBelieved = this.#client.clock.monotonicMs() < this.#believedMs;
    return isBelieved ? TRY_SHARE * this.#everyMs : this.#everyMs;
  }

  readonly beat = (): void => {
    const { tally, acquired: acquiredSoFar } = this.#client;
    if (tally === undefined) return;
    this.#triedMs = this.#client.clock.monotonicMs();
    const acquired = acquiredSoFar - this.#acquired;
    const counted = tally.take();
    try {
      this.#tell({ live: this.#look(acquired, counted), acquired, counted });
    } catch (error) {
      this.#failed(counted, error);
    }
  };

  #look(acquired: number, counted: CountedCalls): LiveText {
    const { redact: asked } = this.#settings;
    const redact = (key: string) => (asked === undefined ? key : textFrom("presence.redact", asked(key)));
    const nowMs = this.#client.clock.monotonicMs();
    return encodeLive(
      activityOf(this.#client, { nowMs, leastAgeMs: this.#settings.everyMs, redact }, acquired, counted),
      nowMs,
    );
  }

  #tell(told: ToldBeat): void {
    const { commands, id: clientId } = this.#client;
    const { group, everyMs: leastMs } = this.#settings;
    const everyMs = this.#everyMs;
    this.#beats += 1;
    const beat = this.#beats;
    const live = told.live.print === this.#print ? "" : told.live.json;
    this.#print = undefined;
    commands.begin({
      script: presenceTell,
      key: this.#key,
      patience: { once: true, aside: true, timeoutMs: Math.min(commands.timeoutMs, this.#tryMs) },
      input: (notAfterMs) => {
        if (this.#isOver) throw new ClientClosedError();
        this.#isSent = true;
        const meta = this.#needsMeta ? this.#meta(notAfterMs - commands.timeoutMs) : "";
        return { group, clientId, notAfterMs, beat, everyMs, leastMs, keepMs: KEEP_MS, meta, live };
      },
      answered: ({ reply }) => this.#answered(told, reply),
      failed: (error) => this.#failed(told.counted, error),
    });
  }

  /** @param serverMs the present time on the server's clock */
  #meta(serverMs: number): string {
    const ageMs = this.#client.clock.monotonicMs() - this.#bornMs;
    return encodeMeta(this.#settings, Math.round(serverMs - ageMs));
  }

  #answered({ live, acquired, counted }: ToldBeat, answer: TellAnswer): void {
    if (answer.isLate) {
      this.#late(counted, answer.stored);
      return;
    }
    const { nextMs, needsMeta } = answer;
    this.#acquired += acquired;
    this.#needsMeta = needsMeta;
    // If the server has lost `meta`, it has lost the report as well.
    this.#print = needsMeta ? undefined : live.print;
    // The script has stored this pause as the client's period.
    const waitMs = Math.max(this.#everyMs, nextMs);
    this.#everyMs = nextMs;
    this.#believedMs = this.#triedMs + BEATS_MISSED * waitMs;
    this.#next(waitMs * (1 + JITTER_SHARE * environment.random()));
  }

  /**
   * Nothing was written. If another program has stored a higher number, Redis refuses all beats with lower numbers. So the next beat uses a
   * higher number. If that does not help, an event reports it.
   */
  #late(counted: CountedCalls, stored: number): void {
    const isAhead = stored > this.#beats;
    const isRepeated = isAhead && this.#wasAhead;
    if (isAhead) {
      this.#wasAhead = true;
      this.#beats = stored;
    }
    this.#retry(counted);
    if (isRepeated)
      this.#publish(new Error(`another client, or program, writes beats of ${this.#client.id}`));
  }

  #failed(counted: CountedCalls, error: unknown): void {
    if (this.#isOver || error instanceof ClientClosedError) return;
    if (wasForbidden(error)) this.#end();
    else this.#retry(counted);
    this.#publish(error);
  }

  #retry(counted: CountedCalls): void {
    this.#client.tally?.putBack(counted);
    this.#next(this.#tryMs);
  }

  #publish(error: unknown): void {
    if (!events.presenceFailed.hasSubscribers) return;
    const { commands, id: clientId } = this.#client;
    const { group } = this.#settings;
    events.presenceFailed.publish({ clientId, server: commands.server, group, error, final: this.#isOver });
  }
}
