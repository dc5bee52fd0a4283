import { afterEach } from "vitest";
import type { AboutClient, EventChannel, TraceChannel } from "../../../src/events.js";
import type { FakeTimeClient } from "../worlds/fake-time.js";

const ends = new Set<() => void>();

/** What is published on a channel from now on until the test ends, in a list that grows. */
export function recorded<Event>(channel: EventChannel<Event>): readonly Event[] {
  const heard: Event[] = [];
  const hear = (event: unknown) => void heard.push(event as Event);
  channel.subscribe(hear);
  ends.add(() => channel.unsubscribe(hear));
  return heard;
}

/** What a tracing channel says when something ends, from now on until the test ends. */
export function recordedEnds<Event extends object>(channel: TraceChannel<Event>): readonly Event[] {
  const heard: Event[] = [];
  const handlers = { asyncEnd: (event: Event) => void heard.push({ ...event }) };
  channel.subscribe(handlers);
  ends.add(() => channel.unsubscribe(handlers));
  return heard;
}

/** What each event of a client says. */
export function aboutOf({ holdfast, driver }: FakeTimeClient): AboutClient {
  return { clientId: holdfast.clientId, server: driver.traits.server };
}

/** Ends all recordings after each test of the file. */
export function endRecordings(): void {
  afterEach(() => {
    for (const end of ends) end();
    ends.clear();
  });
}
