import type { FeedEvent } from "./format.js";

const MOST_EVENTS = 500;
/** The longest text in an event, in characters. */
const LONGEST_TEXT = 400;

/** The latest events, in memory. */
export class KeptEvents {
  #events: FeedEvent[] = [];
  #lastId = 0;

  get all(): readonly FeedEvent[] {
    return this.#events;
  }

  add(event: Omit<FeedEvent, "id">): FeedEvent {
    this.#lastId += 1;
    const short = Object.fromEntries(
      Object.entries(event).map(([name, value]) => [
        name,
        typeof value === "string" ? value.slice(0, LONGEST_TEXT) : value,
      ]),
    ) as Omit<FeedEvent, "id">;
    const kept = { id: this.#lastId, ...short };
    this.#events = [...this.#events, kept].slice(-MOST_EVENTS);
    return kept;
  }
}
