import type { FeedEvent } from "../../../src/inspector/format.js";
import type { View } from "../data/store.js";
import { shown } from "../text/shown.js";
import { clockText } from "../words/words.js";
import { Empty } from "./empty-locks.js";
import { eventText } from "./names.js";
import { usePage } from "./page-context.js";

const SEVERITY: Readonly<Record<FeedEvent["type"], string>> = {
  lost: "stale",
  forced: "no-ttl",
  gone: "no-ttl",
  stale: "stale",
  "redis-away": "stale",
  "redis-back": "plain",
};

/** The past events, the latest first. */
export function EventsScreen({ view }: { readonly view: View }) {
  const { words, openLock } = usePage();
  if (!view.isKnown) return null;
  if (view.events.length === 0) return <Empty title={words.noEvents} text={words.noEventsWhy} />;
  return (
    <div class="table-frame">
      <table class="events">
        <caption class="unseen">{words.eventsTable}</caption>
        <thead>
          <tr>
            <th scope="col" class="c-time">
              {words.time}
            </th>
            <th scope="col" class="c-event">
              {words.event}
            </th>
            <th scope="col" class="c-name">
              {words.name}
            </th>
            <th scope="col" class="c-what">
              {words.what}
            </th>
          </tr>
        </thead>
        <tbody>
          {view.events.map((event) => (
            <tr key={event.id}>
              <td class="c-time number dim">{clockText(words, event.atMs)}</td>
              <td class="c-event">
                <span class={`badge ${SEVERITY[event.type]}`}>{words.eventTypes[event.type]}</span>
              </td>
              <td class="c-name">
                {event.key === undefined ? null : (
                  <button type="button" class="link" onClick={() => openLock(event.key ?? "")}>
                    {shown(event.key)}
                  </button>
                )}
              </td>
              <td class="c-what">{eventText(words, event)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Announces losses to screen readers. Announcing all other changes would be noise. */
export function LossesAloud({ view, since }: { readonly view: View; readonly since: number }) {
  const { words } = usePage();
  const losses = view.events.filter(({ type, id }) => type === "lost" && id > since);
  return (
    <div class="unseen" role="log" aria-live="polite">
      {losses.slice(0, 5).map((event) => (
        <p key={event.id}>{`${shown(event.key ?? "")}: ${eventText(words, event)}`}</p>
      ))}
    </div>
  );
}
