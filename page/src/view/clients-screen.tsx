import { useState } from "preact/hooks";
import type { ClientRow } from "../../../src/inspector/format.js";
import type { Seen, View } from "../data/store.js";
import { clientFields, linkOf } from "../text/link.js";
import { shown } from "../text/shown.js";
import type { Words } from "../words/en.js";
import { durationText } from "../words/words.js";
import { Empty, EmptyLocks } from "./empty-locks.js";
import { memo } from "./memo.js";
import { programName } from "./names.js";
import { usePage, useWords } from "./page-context.js";
import { rowOf, useRovingFocus } from "./roving-focus.js";
import { Age, Ticking } from "./ticking.js";

/** The clients with presence. Clients that are gone come first, the most recently seen at the top. */
export function ClientsScreen({ view }: { readonly view: View }) {
  const words = useWords();
  const [open, setOpen] = useState<string>();
  const { focused, handlers } = useRovingFocus();
  const clients = [...view.clients.values()].sort(byStateAndName);
  if (clients.length === 0) {
    return view.totals.clients > 0 ? (
      <Empty title={words.noClients} />
    ) : (
      <EmptyLocks view={view} isFiltered={false} />
    );
  }
  const tabId = clients.some(({ row }) => row.id === focused) ? focused : clients[0]?.row.id;
  return (
    <div class="table-frame">
      <table class="clients">
        <caption class="unseen">{words.clientsTable}</caption>
        <thead>
          <tr>
            <th scope="col" class="c-app">
              {words.app}
            </th>
            <th scope="col" class="c-host">
              {words.host}
            </th>
            <th scope="col" class="c-seen">
              {words.seen}
            </th>
            <th scope="col" class="c-holds">
              {words.holds}
            </th>
            <th scope="col" class="c-waits">
              {words.waits}
            </th>
            <th scope="col" class="c-runtime">
              {words.runtime}
            </th>
            <th scope="col" class="c-labels">
              {words.labels}
            </th>
          </tr>
        </thead>
        <tbody {...handlers}>
          {clients.map((client) => (
            <ClientTableRow
              key={client.row.id}
              client={client}
              template={view.me?.links.client ?? null}
              isOpen={open === client.row.id}
              hasTab={client.row.id === tabId}
              toggle={setOpen}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function byStateAndName(one: Seen<ClientRow>, other: Seen<ClientRow>): number {
  const [{ row: a }, { row: b }] = [one, other];
  if (a.state !== b.state) return a.state === "gone" ? -1 : 1;
  if (a.state === "gone") return lastSeen(other) - lastSeen(one) || compare(a.id, b.id);
  return compare(a.app, b.app) || compare(a.host ?? "", b.host ?? "") || compare(a.id, b.id);
}

/** When the client was last seen, on the clock of the page. */
function lastSeen({ row, toldMs }: Seen<ClientRow>): number {
  return toldMs - row.lastSeenMs;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

interface ClientTableRowProps {
  readonly client: Seen<ClientRow>;
  readonly template: string | null;
  readonly isOpen: boolean;
  readonly hasTab: boolean;
  toggle(id: string | undefined): void;
}

const ClientTableRow = memo(function ClientTableRow({
  client: { row, toldMs },
  template,
  isOpen,
  hasTab,
  toggle,
}: ClientTableRowProps) {
  const words = useWords();
  const { id, app, host, pid, state, lastSeenMs, holds, waits, more, runtime, lib, labels } = row;
  const isGone = state === "gone";
  const flip = () => toggle(isOpen ? undefined : id);
  return (
    <>
      <tr class={`${isGone ? "is-stale" : ""}${isOpen ? " is-open" : ""}`.trim()} onClick={flip}>
        <th scope="row" class="c-app">
          <button
            type="button"
            class="name"
            data-row
            ref={rowOf(id)}
            tabIndex={hasTab ? 0 : -1}
            aria-expanded={isOpen}
          >
            {app === "" ? words.unnamed : shown(app)}
          </button>
        </th>
        <td class="c-host">
          {host === null ? <span class="dim">–</span> : shown(host)}
          {pid === null ? null : <span class="dim"> {words.pid(pid)}</span>}
        </td>
        <td class="c-seen number">
          <span class={isGone ? "badge stale" : "badge plain"}>{isGone ? words.goneState : words.there}</span>
          {isGone ? (
            <Ticking text={(nowMs) => words.ago(durationText(words, lastSeenMs + nowMs - toldMs))} />
          ) : null}
        </td>
        <td class="c-holds number">{holds.length + more.holds}</td>
        <td class="c-waits number">{waits.length + more.waits}</td>
        <td class="c-runtime dim">{shown([runtime, lib].filter((text) => text !== "").join(" · "))}</td>
        <td class="c-labels dim">
          {Object.entries(labels)
            .map(([key, value]) => shown(`${key}=${value}`))
            .join(" ")}
        </td>
      </tr>
      {isOpen ? (
        <tr class="detail">
          <td colSpan={7}>
            <Detail words={words} client={{ row, toldMs }} href={linkOf(template, clientFields(row))} />
          </td>
        </tr>
      ) : null}
    </>
  );
});

interface DetailProps {
  readonly words: Words;
  readonly client: Seen<ClientRow>;
  readonly href: string | undefined;
}

const MOST_SHOWN = 50;

function Detail({ words, client: { row, toldMs }, href }: DetailProps) {
  const { openLock } = usePage();
  const entry = (key: string, ageMs: number, note: string | null) => (
    <li key={key}>
      <button type="button" class="link" onClick={() => openLock(key)}>
        {shown(key)}
      </button>
      {note === null ? null : <span class="dim"> {shown(note)}</span>}
      <span class="number age">
        <Age ms={ageMs} toldMs={toldMs} />
      </span>
    </li>
  );
  const list = (title: string, none: string, entries: preact.VNode[], more: number) => (
    <section>
      <h2>{title}</h2>
      {entries.length === 0 ? <p class="dim">{none}</p> : <ul class="queue">{entries}</ul>}
      {more > 0 ? <p class="dim">{words.moreOf(more)}</p> : null}
    </section>
  );
  const hidden = (all: readonly unknown[], more: number) => Math.max(0, all.length - MOST_SHOWN) + more;
  return (
    <div class="client-detail">
      {list(
        words.holds,
        words.nothingHeld,
        row.holds.slice(0, MOST_SHOWN).map(({ key, ageMs, note }) => entry(key, ageMs, note)),
        hidden(row.holds, row.more.holds),
      )}
      {list(
        words.waits,
        words.nothingAwaited,
        row.waits.slice(0, MOST_SHOWN).map(({ key, ageMs }) => entry(key, ageMs, null)),
        hidden(row.waits, row.more.waits),
      )}
      <p class="small dim">
        <span class="code">{shown(row.id)}</span>
        {href === undefined ? null : (
          <a href={href} target="_blank" rel="noopener noreferrer">
            {words.openClient} {programName(row)}
          </a>
        )}
      </p>
    </div>
  );
}
