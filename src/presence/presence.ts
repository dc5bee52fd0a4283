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

/** What a client has told outlives it, so that a holder that died can be named. */
const KEEP_MS = 3_600_000;
/** A beat is late by up to this share of it, so that clients that were started at once do not tell at once for ever. */
const JITTER_SHARE = 0.2;
/**
 * What a try may take, and how long after its start the next one follows when it has failed, as a share of a beat. A beat and its lateness, a
 * connection that is lost for a whole beat, and a slow try after that come to less than the three beats after which a client is gone.
 */
const TRY_SHARE = 0.5;

/** What a beat tells, and what of it was counted since the last one. */
interface ToldBeat {
  readonly live: LiveText;
  readonly acquired: number;
  readonly counted: CountedCalls;
}

/**
 * Tells the group of a client every few seconds that it is there, what it is and what it has: a beat. A beat that fails delays
 * and fails nothing else; the next one tells what it would have told, and comes early as long as the group believes the client there.
 */
export class Presence {
  readonly #client: Client;
  readonly #settings: PresenceSettings;
  readonly #key: string;
  readonly #bornMs: number;
  /** How long until the next beat, unless this one is answered. */
  #everyMs: number;
  /** When the latest try began, and until when the group believes the client there by what it has answered; on the monotonic clock. */
  #triedMs = 0;
  #believedMs = 0;
  /** Whether a higher number than that of its beat was stored, once at least. */
  #wasAhead = false;
  #beats = 0;
  #acquired = 0;
  #needsMeta = true;
  /** The last report; undefined if it is not known. */
  #print: string | undefined;
  #isSent = false;
  #isOver = false;

  /** @param bornMs when the client began, on the monotonic clock */
  constructor(client: Client, settings: PresenceSettings, bornMs: number) {
    this.#client = client;
    this.#settings = settings;
    this.#key = presenceClientsKey(settings.group);
    this.#bornMs = bornMs;
    this.#everyMs = Math.max(settings.everyMs, UNKNOWN_GROUP_MS);
  }

  /** The client is closed: it tells nothing any more, and takes away what it has told, if that is answered within a command timeout. */
  leave(): void {
    const [client, key] = [this.#client, this.#key];
    if (this.#isOver) return;
    this.#end();
    if (!this.#isSent) return;
    const teller = { group: this.#settings.group, clientId: client.id };
    client.inBackground(() => client.commands.exchange(presenceLeave, key, () => teller));
  }

  /** Nothing is told any more, and so nothing is counted. */
  #end(): void {
    this.#isOver = true;
    this.#client.tally = undefined;
  }

  /** @param waitMs since the latest try began */
  #next(waitMs: number): void {
    if (this.#isOver) return;
    const leftMs = this.#triedMs + waitMs - this.#client.clock.monotonicMs();
    // A beat that is due follows with the next tick, not within this call.
    this.#client.after(Math.max(leftMs, 1), this.beat);
  }

  /** Once the client is taken for gone there is no hurry. */
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

  /** @param serverMs the time on the server's clock at this moment */
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
    // With `meta` the server has lost the rest as well.
    this.#print = needsMeta ? undefined : live.print;
    // As the script has stored it.
    const waitMs = Math.max(this.#everyMs, nextMs);
    this.#everyMs = nextMs;
    this.#believedMs = this.#triedMs + BEATS_MISSED * waitMs;
    this.#next(waitMs * (1 + JITTER_SHARE * environment.random()));
  }

  /** Nothing was written. A number that another program has stored would keep it so: it is jumped over, and told when that helps no longer. */
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
