import { afterEach } from "vitest";
import type { EventChannel } from "../../../src/events.js";

const ends = new Set<() => void>();

/** What is published on a channel from now on until the test ends, in a list that grows. */
export function recorded<Event>(channel: EventChannel<Event>): readonly Event[] {
  const heard: Event[] = [];
  const hear = (event: unknown) => void heard.push(event as Event);
  channel.subscribe(hear);
  ends.add(() => channel.unsubscribe(hear));
  return heard;
}

/** Ends all recordings after each test of the file. */
export function endRecordings(): void {
  afterEach(() => {
    for (const end of ends) end();
    ends.clear();
  });
}
