import { types } from "node:util";
import type { Timer } from "../clock.js";
import { events, type Holdfast, UnavailableError } from "../index.js";
import { inRootContext } from "../root-context.js";
import type { LocksSeen } from "../watch/index.js";
import { eventText, type Sink } from "./answer.js";
import type { Change, FeedEvent, FeedSnapshot, Point } from "./format.js";
import type { InspectorSettings } from "./inspector-options.js";
import type { Picture } from "./picture.js";
import { Poll } from "./poll.js";
import type { WantedRows } from "./query.js";
import { View } from "./view.js";

/** A page that asks for a feed. */
export interface Newcomer {
  readonly wanted: WantedRows;
  readonly actor: string | null;
  /** Whether the page may still read. Never rejects. */
  mayStay(): Promise<boolean>;
}

interface Viewer extends Newcomer {
  readonly sink: Sink;
  /** By {@link keyOf}. */
  readonly view: string;
  hasSnapshot: boolean;
  /** When the right of the page was last checked. */
  askedMs: number;
  isAsked: boolean;
}

const PING_MS = 15_000;
const ASKED_EACH_MS = 60_000;
/** A page with this many unread bytes reads too slowly: its feed is ended, and the page connects again. */
const MOST_UNREAD = 4_194_304;
/** The most open pages of one actor. */
const MOST_OWN = 10;
/** How long polling goes on after a single request, for pages that send single requests now and then. */
const LINGER_MS = 10_000;

/** The open pages. While a page is open, one poll looks at the locks for all open pages. */
export class Audience {
  readonly #settings: InspectorSettings;
  readonly #picture: Picture;
  readonly #poll: Poll;
  readonly #clientId: string;
  readonly #viewers = new Set<Viewer>();
  readonly #views = new Map<string, View>();
  #beat: Timer | undefined;
  #lingering: Timer | undefined;
  #isClosed = false;
  #whenLeft: () => void = () => undefined;

  constructor(holdfast: Holdfast, settings: InspectorSettings, picture: Picture) {
    this.#settings = settings;
    this.#picture = picture;
    this.#clientId = holdfast.clientId;
    this.#poll = new Poll(holdfast, settings, {
      seen: (seen) => this.#seen(seen),
      failed: (error) => this.#failed(error),
      blind: (reason) => this.#blind(reason),
      closed: () => this.close(),
    });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Registers a function that is called when the last page has left. */
  onLeft(left: () => void): void {
    this.#whenLeft = left;
  }

  /** Why there is no room for another page; undefined if there is room. */
  fullFor(actor: string | null): "actor" | "all" | undefined {
    const viewers = [...this.#viewers];
    if (viewers.length >= this.#settings.maxViewers) return "all";
    // Pages without an actor's name cannot be told apart.
    const own = actor === null ? 0 : viewers.filter((viewer) => viewer.actor === actor).length;
    return own < MOST_OWN ? undefined : "actor";
  }

  /** Begins a feed. @returns a function that ends the feed */
  join(newcomer: Newcomer, sink: Sink): () => void {
    const askedMs = this.#settings.clock.monotonicMs();
    const view = keyOf(newcomer.wanted);
    const viewer: Viewer = { ...newcomer, sink, view, hasSnapshot: false, askedMs, isAsked: false };
    this.#viewers.add(viewer);
    this.#keepBeating();
    void this.#start().then(() => this.#welcome(viewer));
    return () => this.#leave(viewer);
  }

  /** Resolves when a look has brought the picture up to date, or has failed. */
  async glance(): Promise<void> {
    this.#lingering?.cancel();
    const { clock, refreshMs } = this.#settings;
    this.#lingering = inRootContext(() =>
      clock.schedule(refreshMs + LINGER_MS, () => {
        this.#lingering = undefined;
        this.#rest();
      }),
    );
    await this.#start();
  }

  /** The present picture, for a page that asks once. */
  snapshot(wanted: WantedRows): FeedSnapshot {
    const { nowMs: atMs, totals, history, events: kept, away, scan, blind } = this.#picture;
    const view = this.#views.get(keyOf(wanted)) ?? new View(this.#picture, wanted);
    return { atMs, ...view.shown(), totals, history: history.points, events: kept.all, away, scan, blind };
  }

  tell(event: FeedEvent): void {
    this.#send(() => eventText("event", event));
  }

  /** Sends the differences to all pages. */
  tellChanges(point?: Point): void {
    const { nowMs: atMs, totals, away, scan, blind } = this.#picture;
    const common = { atMs, totals, away, scan, blind, ...(point && { point }) };
    const texts = new Map<string, string>();
    for (const [key, view] of this.#views) {
      const change: Change = { ...view.changes(), ...common };
      texts.set(key, eventText("change", change));
    }
    this.#send(({ view }) => texts.get(view) ?? "");
  }

  /** Ends all feeds. Harmless twice. */
  close(): void {
    this.#isClosed = true;
    for (const viewer of [...this.#viewers]) this.#dismiss(viewer);
    this.#lingering?.cancel();
    this.#lingering = undefined;
    this.#rest();
  }

  #start(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    events.clientClose.unsubscribe(this.#whenClosed);
    events.clientClose.subscribe(this.#whenClosed);
    return this.#poll.start();
  }

  readonly #whenClosed = ({ clientId }: { readonly clientId: string }) => {
    if (clientId === this.#clientId) this.close();
  };

  /** Without an open page no command is sent, and no timer is left. */
  #rest(): void {
    if (this.#viewers.size === 0) {
      this.#beat?.cancel();
      this.#beat = undefined;
    }
    if (this.#viewers.size > 0 || this.#lingering !== undefined) return;
    events.clientClose.unsubscribe(this.#whenClosed);
    this.#poll.stop();
    this.#whenLeft();
  }

  #welcome(viewer: Viewer): void {
    if (!this.#viewers.has(viewer)) return;
    if (!this.#views.has(viewer.view)) {
      const view = new View(this.#picture, viewer.wanted);
      this.#views.set(viewer.view, view);
      view.changes();
    }
    viewer.hasSnapshot = true;
    this.#write(viewer, eventText("snapshot", this.snapshot(viewer.wanted)));
  }

  #leave(viewer: Viewer): void {
    if (!this.#viewers.delete(viewer)) return;
    const isShared = [...this.#viewers].some(({ view }) => view === viewer.view);
    if (!isShared) this.#views.delete(viewer.view);
    this.#rest();
  }

  #dismiss(viewer: Viewer, how: "end" | "cut" = "end"): void {
    if (!this.#viewers.has(viewer)) return;
    this.#leave(viewer);
    viewer.sink[how]();
  }

  #send(textFor: (viewer: Viewer) => string): void {
    for (const viewer of [...this.#viewers]) if (viewer.hasSnapshot) this.#write(viewer, textFor(viewer));
  }

  #write(viewer: Viewer, text: string): void {
    if (text === "") return;
    viewer.sink.write(text);
    if (viewer.sink.unread > MOST_UNREAD) this.#dismiss(viewer, "cut");
  }

  #keepBeating(): void {
    this.#beat ??= inRootContext(() =>
      this.#settings.clock.schedule(PING_MS, () => {
        this.#beat = undefined;
        for (const viewer of [...this.#viewers]) {
          this.#write(viewer, ": ping\n\n");
          void this.#ask(viewer);
        }
        if (this.#viewers.size > 0) this.#keepBeating();
      }),
    );
  }

  /** A feed stays open for days, and its reader may lose the right to it meanwhile. A check without an answer counts as a refusal. */
  async #ask(viewer: Viewer): Promise<void> {
    const nowMs = this.#settings.clock.monotonicMs();
    if (nowMs - viewer.askedMs < ASKED_EACH_MS) return;
    if (viewer.isAsked) return this.#dismiss(viewer);
    viewer.isAsked = true;
    viewer.askedMs = nowMs;
    if (!(await viewer.mayStay())) this.#dismiss(viewer);
    viewer.isAsked = false;
  }

  #seen(seen: LocksSeen): void {
    const { point, events: news } = this.#picture.seen(seen);
    this.tellChanges(point);
    for (const event of news) this.tell(event);
  }

  #failed(error: unknown): void {
    const begun = this.#picture.lostRedis(reasonOf(error));
    this.tellChanges();
    if (begun !== undefined) this.tell(begun);
  }

  #blind(reason: string | undefined): void {
    this.#picture.blind =
      reason === undefined
        ? []
        : [
            `Channels cannot be read: locks of JVMs and of clients without presence are not found (${reason}).`,
          ];
  }
}

/** The message of an error, from the server's name on: the text before it would only name the request. */
function reasonOf(error: unknown): string {
  if (!types.isNativeError(error)) return String(error);
  const { message } = error;
  return error instanceof UnavailableError ? message.slice(message.indexOf(error.server)) : message;
}

function keyOf({ match, sort, only }: WantedRows): string {
  return JSON.stringify([match, sort, only]);
}
