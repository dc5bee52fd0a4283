import type { Client } from "../client.js";
import { environment } from "../environment.js";
import { ClientClosedError } from "../errors.js";
import { events } from "../events.js";
import { presenceClientsKey } from "../protocol/names.js";
import { presenceLeave, presenceTell, type TellAnswer } from "../protocol/presence-scripts.js";
import { wasForbidden } from "../runtime/command-failures.js";
import { type Counted, Tally } from "../runtime/tally.js";
import { activityOf } from "./activity.js";
import { encodeLive, type LiveText } from "./live-format.js";
import { encodeMeta } from "./meta.js";
import { LONGEST_BEAT_MS, type PresenceSettings } from "./presence-options.js";

/** What a client has told outlives it, so that a holder that died can be named. */
const KEEP_MS = 3_600_000;
/** A group of any size writes a hundred times a second at most. */
const SHARE_MS = 10;
/** A beat is late by up to this share of it, so that clients that were started at once do not tell at once for ever. */
const JITTER_SHARE = 0.2;

/** What a beat tells, and what of it was counted since the last one. */
interface Told {
  readonly live: LiveText;
  readonly acquired: number;
  readonly counted: Counted;
}

/**
 * Tells the group of a client every few seconds that it is there, what it is and what it has: a beat. The first one comes between one and two
 * beats after the client was made. A beat that fails delays and fails nothing else; the next one tells what it would have told.
 */
export class Presence {
  readonly #client: Client;
  readonly #settings: PresenceSettings;
  readonly #key: string;
  /** On the monotonic clock. */
  readonly #bornMs: number;
  /** How long until the next beat. */
  #everyMs: number;
  #beats = 0;
  #acquired = 0;
  #needsMeta = true;
  /** What was told last; undefined when that is not known. */
  #print: string | undefined;
  #isSent = false;
  #isOver = false;

  constructor(client: Client, settings: PresenceSettings) {
    this.#client = client;
    this.#settings = settings;
    this.#key = presenceClientsKey(settings.group);
    this.#bornMs = client.clock.monotonicMs();
    this.#everyMs = settings.everyMs;
    client.tally = new Tally(client.clock);
    this.#next(1);
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

  #next(jitterShare: number): void {
    const jitterMs = environment.random() * jitterShare * this.#everyMs;
    this.#client.after(this.#everyMs + jitterMs, this.#beat);
  }

  readonly #beat = (): void => {
    const { tally, acquired: acquiredSoFar } = this.#client;
    if (tally === undefined) return;
    const acquired = acquiredSoFar - this.#acquired;
    const counted = tally.take();
    try {
      this.#tell({ live: this.#look(acquired, counted), acquired, counted });
    } catch (error) {
      this.#failed(counted, error);
    }
  };

  #look(acquired: number, counted: Counted): LiveText {
    const { redact = (key: string) => key } = this.#settings;
    const nowMs = this.#client.clock.monotonicMs();
    return encodeLive(
      activityOf(this.#client, { nowMs, leastAgeMs: this.#everyMs, redact }, acquired, counted),
      nowMs,
    );
  }

  #tell(told: Told): void {
    const { commands, id: clientId } = this.#client;
    const { group } = this.#settings;
    const everyMs = this.#everyMs;
    this.#beats += 1;
    const beat = this.#beats;
    const live = told.live.print === this.#print ? "" : told.live.json;
    this.#print = undefined;
    commands.begin({
      script: presenceTell,
      key: this.#key,
      patience: { once: true, aside: true },
      input: (notAfterMs) => {
        if (this.#isOver) throw new ClientClosedError();
        this.#isSent = true;
        const meta = this.#needsMeta ? this.#meta(notAfterMs - commands.timeoutMs) : "";
        return { group, clientId, notAfterMs, beat, everyMs, keepMs: KEEP_MS, meta, live };
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

  #answered({ live, acquired, counted }: Told, answer: TellAnswer): void {
    if (answer === "late") this.#client.tally?.putBack(counted);
    else {
      const { there, needsMeta } = answer;
      this.#acquired += acquired;
      this.#needsMeta = needsMeta;
      // With `meta` the server has lost the rest as well.
      this.#print = needsMeta ? undefined : live.print;
      // The group has been told how long this beat is: within three of them the next one has to come.
      const wantedMs = Math.max(this.#settings.everyMs, there * SHARE_MS);
      this.#everyMs = Math.min(wantedMs, LONGEST_BEAT_MS, 2 * this.#everyMs);
    }
    if (!this.#isOver) this.#next(JITTER_SHARE);
  }

  #failed(counted: Counted, error: unknown): void {
    if (this.#isOver || error instanceof ClientClosedError) return;
    this.#client.tally?.putBack(counted);
    this.#print = undefined;
    if (wasForbidden(error)) this.#end();
    else this.#next(JITTER_SHARE);
    if (!events.presenceFailed.hasSubscribers) return;
    const { commands, id: clientId } = this.#client;
    const { group } = this.#settings;
    events.presenceFailed.publish({ clientId, server: commands.server, group, error, isFinal: this.#isOver });
  }
}
