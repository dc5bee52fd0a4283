import type { Change, FeedEvent, FeedSnapshot } from "../../../src/inspector/format.js";
import { EventStreamReader, type StreamMessage } from "./event-stream.js";
import { RefusedError, type Requests } from "./requests.js";
import type { Store } from "./store.js";

/** The server sends a ping every 15 s: without any data for this long, the feed counts as broken. */
const SILENCE_MS = 40_000;
/**
 * A proxy may buffer the whole feed. If no message has arrived after this time, the page requests a snapshot once, so that it is not empty
 * meanwhile.
 */
const FIRST_WAIT_MS = 4_000;
const POLL_MS = 5_000;
/** How long the page polls before it tries the feed again. */
const POLLING_MS = 300_000;
const RETRY_MS = [1_000, 2_000, 4_000, 8_000, 15_000];

/** The feed has sent nothing for too long. */
class Silence extends Error {}

/** Keeps the store up to date by the feed, or by polling if a proxy buffers the feed. While it is paused, it does neither. */
export class Feed {
  #running: AbortController | undefined;
  #wanted = "";

  constructor(
    private readonly requests: Requests,
    private readonly store: Store,
  ) {}

  /** Starts, or starts again. */
  start(): void {
    this.#running?.abort();
    this.#running = new AbortController();
    void this.#run(this.#running.signal);
  }

  pause(): void {
    if (this.store.view.connection.is === "refused") return;
    this.#running?.abort();
    this.#running = undefined;
    this.store.connection({ is: "paused" });
  }

  /** Requests the locks that fit this query, because the server may have more locks than a feed sends. */
  want(wanted: string): void {
    if (wanted === this.#wanted) return;
    this.#wanted = wanted;
    if (this.#running !== undefined) this.start();
  }

  async #run(signal: AbortSignal): Promise<void> {
    let [failures, sinceMs] = [0, 0];
    if (this.store.view.connection.is !== "live") this.store.connection({ is: "connecting" });
    while (!signal.aborted) {
      const reason = await this.#followOrPoll(signal, () => {
        failures = 0;
      });
      if (signal.aborted || this.store.view.connection.is === "refused") return;
      if (failures === 0) sinceMs = performance.now();
      this.store.connection({ is: "lost", sinceMs, reason });
      const retryMs = RETRY_MS[Math.min(failures, RETRY_MS.length - 1)] ?? 0;
      failures += 1;
      // After a restart of the server, its pages should not all reconnect at the same moment.
      await pause(retryMs * (0.75 + Math.random() / 2), signal);
    }
  }

  /** @returns why the feed or the polling ended */
  async #followOrPoll(signal: AbortSignal, succeeded: () => void): Promise<string> {
    try {
      this.store.me(await this.requests.me(AbortSignal.any([signal, AbortSignal.timeout(SILENCE_MS)])));
      await this.#follow(signal, succeeded);
      return "";
    } catch (error) {
      if (!(error instanceof Silence)) return this.#failed(error);
    }
    try {
      await this.#poll(signal, succeeded);
      return "";
    } catch (error) {
      return this.#failed(error);
    }
  }

  #failed(error: unknown): string {
    if (!(error instanceof RefusedError)) return error instanceof Error ? error.message : "";
    const { status, reason } = error;
    if (status === 401 || status === 403 || status === 404 || status === 421)
      this.store.connection({ is: "refused", status });
    return reason === "" ? String(status) : reason;
  }

  async #follow(signal: AbortSignal, succeeded: () => void): Promise<void> {
    const silent = new AbortController();
    const silence = () => setTimeout(() => silent.abort(new Silence()), SILENCE_MS);
    let timer = silence();
    const first = setTimeout(() => void this.#lookOnce(signal), FIRST_WAIT_MS);
    try {
      const response = await this.requests.feed(this.#wanted, AbortSignal.any([signal, silent.signal]));
      const body = response.body?.getReader();
      if (body === undefined) throw new Silence();
      const reader = new EventStreamReader();
      for (;;) {
        const { done, value } = await body.read();
        if (done) return;
        clearTimeout(timer);
        timer = silence();
        for (const message of reader.read(value)) {
          clearTimeout(first);
          this.#take(message);
          succeeded();
        }
        if (this.store.view.connection.is !== "live" && this.store.view.isKnown)
          this.store.connection({ is: "live" });
      }
    } finally {
      clearTimeout(timer);
      clearTimeout(first);
    }
  }

  #take({ event, data }: StreamMessage): void {
    if (event === "snapshot") this.store.snapshot(JSON.parse(data) as FeedSnapshot);
    if (event === "change") this.store.change(JSON.parse(data) as Change);
    if (event === "event") this.store.event(JSON.parse(data) as FeedEvent);
  }

  async #lookOnce(signal: AbortSignal): Promise<void> {
    try {
      const snapshot = await this.requests.snapshot(this.#wanted, signal);
      if (!this.store.view.isKnown) this.store.snapshot(snapshot);
    } catch {
      // The feed itself will report the error.
    }
  }

  async #poll(signal: AbortSignal, succeeded: () => void): Promise<void> {
    const untilMs = performance.now() + POLLING_MS;
    while (performance.now() < untilMs) {
      const timeout = AbortSignal.timeout(SILENCE_MS);
      this.store.snapshot(await this.requests.snapshot(this.#wanted, AbortSignal.any([signal, timeout])));
      this.store.connection({ is: "polling" });
      succeeded();
      await pause(POLL_MS, signal);
      if (signal.aborted) return;
    }
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
}
