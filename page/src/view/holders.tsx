import { useState } from "preact/hooks";
import type { LockDetail, LockRow } from "../../../src/inspector/format.js";
import type { SeenLock, View } from "../data/store.js";
import { clientFields, linkOf } from "../text/link.js";
import { shown } from "../text/shown.js";
import { durationText } from "../words/words.js";
import { holderName, isWriter, threadOf } from "./names.js";
import { useWords } from "./page-context.js";
import { endOf, PermitList } from "./permits.js";
import { type PermitsOut, ReleaseDialog } from "./release-dialog.js";
import { Age, Ticking } from "./ticking.js";

/** The most entries in the list of holders, and in the list of waiting calls. */
export const MOST_LISTED = 50;

interface HoldersProps {
  readonly view: View;
  readonly lock: SeenLock;
  readonly detail: LockDetail | undefined;
  lookAgain(): void;
}

type Holder = LockRow["holders"][number];

/** The holders of the lock, or of permits of the semaphore, each in a card. */
export function Holders({ view, lock, detail, lookAgain }: HoldersProps) {
  const words = useWords();
  const { row, toldMs } = lock;
  const isCount = !/lock$/.test(row.kind);
  const listed = row.holders.slice(0, MOST_LISTED);
  const all = row.holders.length + row.more.holders;
  const [givingBack, setGivingBack] = useState<PermitsOut | null>(null);
  const out = detail?.permits ?? [];
  const list = (ids: readonly string[], holder: Holder | null) => (
    <PermitList
      permits={{ ids, holder }}
      all={out}
      toldMs={toldMs}
      giveBack={view.me?.role === "operate" ? setGivingBack : undefined}
    />
  );
  const owned = new Set(row.holders.flatMap(({ permitIds = [] }) => permitIds));
  const unowned = out.flatMap(({ id }) => (owned.has(id) ? [] : [id]));
  return (
    <section>
      <h3>
        {words.holders} <span class="number dim">{all}</span>
      </h3>
      {all === 0 ? <p class="dim">{isCount ? words.noClientTells : words.nobody}</p> : null}
      <ul class="cards">
        {listed.map((holder, at) => (
          // A client has a card for each call that has taken permits.
          <li key={`${at} ${holder.holder}`}>
            <p class="who">
              <strong>{holderName(words, holder)}</strong>
              {isCount ? (
                <span class="number">{words.permitsOf(holder.count)}</span>
              ) : holder.count > 1 ? (
                <span class="number"> {words.times(holder.count)}</span>
              ) : null}
              {row.kind === "read-write-lock" ? (
                <span class="badge plain">{isWriter(holder) ? words.writer : words.reader}</span>
              ) : null}
              {holder.client?.state === "gone" ? (
                <span class="badge stale">
                  <Ticking
                    text={(nowMs) =>
                      words.goneFor(durationText(words, (holder.client?.lastSeenMs ?? 0) + nowMs - toldMs))
                    }
                  />
                </span>
              ) : null}
              {holder.sinceMs === null ? null : (
                <span class="number age">
                  <Age ms={holder.sinceMs} toldMs={toldMs} />
                </span>
              )}
            </p>
            {holder.note === null ? null : <p class="note">{shown(holder.note)}</p>}
            <p class="dim small">
              {holder.client === null
                ? words.noPresenceOf
                : [
                    ...(holder.client.pid === null ? [] : [words.pid(holder.client.pid)]),
                    ...threadOf(words, holder),
                    ...(isCount ? endOf(words, holder) : []),
                    ...Object.entries(holder.client.labels).map(([key, value]) => shown(`${key}=${value}`)),
                  ].join(" · ")}
            </p>
            {list(holder.permitIds ?? [], holder)}
            <Links view={view} row={row} holder={holder} />
          </li>
        ))}
        {unowned.length === 0 ? null : (
          <li key="unowned">
            <p class="who">
              <strong>{words.unknownClient}</strong>
              <span class="number">{words.permitsOf(unowned.length)}</span>
            </p>
            {list(unowned, null)}
          </li>
        )}
      </ul>
      {all > listed.length ? <p class="dim">{words.andMore(all - listed.length)}</p> : null}
      {detail?.permits === null ? <p class="failure">{words.permitsFailed}</p> : null}
      {givingBack === null ? null : (
        <ReleaseDialog
          row={row}
          permits={givingBack}
          out={new Set(out.map(({ id }) => id))}
          close={() => {
            setGivingBack(null);
            lookAgain();
          }}
        />
      )}
    </section>
  );
}

function Links({
  view,
  row,
  holder,
}: {
  readonly view: View;
  readonly row: LockRow;
  readonly holder: LockRow["holders"][number];
}) {
  const words = useWords();
  const { client = null, trace = null } = view.me?.links ?? {};
  const fields = {
    ...(holder.client === null ? {} : clientFields(holder.client)),
    name: row.name,
    key: row.key,
    token: row.token,
    holder: holder.holder,
    note: holder.note,
  };
  const clientHref = holder.client === null ? undefined : linkOf(client, fields);
  const traceHref = linkOf(trace, fields);
  const links = [
    ...(clientHref === undefined ? [] : [{ text: words.openClient, href: clientHref }]),
    ...(traceHref === undefined ? [] : [{ text: words.openTrace, href: traceHref }]),
  ];
  if (links.length === 0) return null;
  return (
    <p class="links small">
      {links.map(({ text, href }) => (
        <a key={text} href={href} target="_blank" rel="noopener noreferrer">
          {text}
        </a>
      ))}
    </p>
  );
}
