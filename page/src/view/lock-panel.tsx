import { useEffect, useRef, useState } from "preact/hooks";
import type { LockDetail, LockRow } from "../../../src/inspector/format.js";
import type { SeenLock, View } from "../data/store.js";
import { clientFields, linkOf } from "../text/link.js";
import { shown } from "../text/shown.js";
import { clockText, durationText } from "../words/words.js";
import { Badges } from "./badges.js";
import { copyText } from "./clipboard.js";
import { FreeDialog } from "./free-dialog.js";
import { LeaseMeter } from "./lease-meter.js";
import { holderName, isWriter, programName, threadOf } from "./names.js";
import { usePage, useWords } from "./page-context.js";
import { Age, Ticking } from "./ticking.js";

/** Of the holders, and of the calls that wait. */
const MOST_LISTED = 50;

interface LockPanelProps {
  readonly view: View;
  readonly lockKey: string;
  close(): void;
}

/** Everything about one lock. */
export function LockPanel({ view, lockKey, close }: LockPanelProps) {
  const { words } = usePage();
  const { detail, failure, lookAgain } = useDetail(view, lockKey);
  const [freeing, setFreeing] = useState<SeenLock | null>(null);
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => title.current?.focus({ preventScroll: true }), [lockKey]);
  const fromFeed = view.locks.get(lockKey);
  const lock = fromFeed ?? detail?.seen;
  const name = shown(lock?.row.name ?? lockKey);
  const isHeld = lock !== undefined && lock.row.holders.length > 0;
  const mayFree = view.me?.role === "operate" && lock !== undefined && canBeFreed(lock.row);
  return (
    <section class="panel" aria-label={words.panel(name)}>
      <header>
        <h2 ref={title} tabIndex={-1}>
          {name}
        </h2>
        <button
          type="button"
          class="quiet"
          aria-label={words.close}
          title={`${words.close} (Esc)`}
          onClick={close}
        >
          ✕
        </button>
      </header>
      {lock === undefined ? (
        detail === undefined ? null : (
          <div class="empty">
            <h3>{words.gone}</h3>
            <p>{words.goneWhy}</p>
          </div>
        )
      ) : (
        <>
          <p class="facts">
            <span>{words.kinds[lock.row.kind]}</span> <Badges lock={lock.row} />
          </p>
          <Lease lock={lock} />
          <Holders view={view} lock={lock} />
          <Queue lock={lock} />
          <Facts row={lock.row} />
        </>
      )}
      <Changes detail={detail} />
      {failure === undefined ? null : <p class="failure">{words.panelFailed(failure)}</p>}
      {detail === undefined || !isHeld ? null : <UnlockLine key={lockKey} line={detail.unlock} />}
      {mayFree ? (
        <p class="actions">
          <button type="button" class="danger" data-key="f" onClick={() => setFreeing(lock)}>
            {words.free}
          </button>
        </p>
      ) : null}
      {freeing === null ? null : (
        <FreeDialog
          lock={freeing}
          now={lock}
          lookAgain={() => setFreeing(lock ?? null)}
          close={() => {
            setFreeing(null);
            lookAgain();
          }}
        />
      )}
    </section>
  );
}

/** What stores no holders has nothing that could be compared, and so is not freed. */
function canBeFreed({ kind, holders }: LockRow): boolean {
  return holders.length > 0 && /lock$/.test(kind);
}

type Told = LockDetail & { readonly seen: SeenLock | undefined };

/** Reads the details anew whenever the feed tells of another state; of a lock that it does not tell of, with each of its messages. */
function useDetail(view: View, key: string) {
  const { requests } = usePage();
  const [told, setTold] = useState<{ key: string; detail?: Told; failure?: string }>();
  const [round, setRound] = useState(0);
  const state = view.locks.get(key)?.row.seen ?? view.toldMs;
  useEffect(() => {
    const ended = new AbortController();
    const look = async () => {
      try {
        const detail = await requests.lock(key, ended.signal);
        const { lock } = detail;
        const toldMs = performance.now();
        const fullMs = Math.max(30_000, lock?.ttlMs ?? 0);
        setTold({
          key,
          detail: { ...detail, seen: lock === null ? undefined : { row: lock, toldMs, fullMs } },
        });
      } catch (error) {
        if (!ended.signal.aborted) setTold({ key, failure: error instanceof Error ? error.message : "" });
      }
    };
    void look();
    return () => ended.abort();
  }, [requests, key, state, round]);
  const current = told?.key === key ? told : undefined;
  return {
    detail: current?.detail,
    failure: current?.failure,
    lookAgain: () => setRound((count) => count + 1),
  };
}

function Lease({ lock }: { readonly lock: SeenLock }) {
  const words = useWords();
  const { holders } = lock.row;
  if (holders.length === 0) return null;
  const renewed = holders.some((holder) => holder.renewed === true);
  const fixed = holders.some((holder) => holder.renewed === false);
  return (
    <p class="wide-lease">
      <LeaseMeter lock={lock} />
      <span class="dim">{renewed ? words.renewed : fixed ? words.notRenewed : ""}</span>
    </p>
  );
}

function Holders({ view, lock }: { readonly view: View; readonly lock: SeenLock }) {
  const words = useWords();
  const { row, toldMs } = lock;
  const listed = row.holders.slice(0, MOST_LISTED);
  const all = row.holders.length + row.more.holders;
  return (
    <section>
      <h3>
        {words.holders} <span class="number dim">{all}</span>
      </h3>
      {row.holders.length === 0 ? <p class="dim">{words.nobody}</p> : null}
      <ul class="cards">
        {listed.map((holder) => (
          <li key={holder.holder}>
            <p class="who">
              <strong>{holderName(words, holder)}</strong>
              {holder.count > 1 ? <span class="number"> {words.times(holder.count)}</span> : null}
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
                    ...Object.entries(holder.client.labels).map(([key, value]) => shown(`${key}=${value}`)),
                  ].join(" · ")}
            </p>
            <Links view={view} row={row} holder={holder} />
          </li>
        ))}
      </ul>
      {all > listed.length ? <p class="dim">{words.andMore(all - listed.length)}</p> : null}
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

function Queue({ lock }: { readonly lock: SeenLock }) {
  const words = useWords();
  const { row, toldMs } = lock;
  const isFair = row.kind === "fair-lock";
  const listed = row.waiting.slice(0, MOST_LISTED);
  const all = row.waiting.length + row.more.waiting;
  return (
    <section>
      <h3>{all === 0 ? words.queue : isFair && all > 1 ? words.queueFair(all) : words.queueLoose(all)}</h3>
      {all === 0 ? (
        <p class="dim">{(row.listeners ?? 0) > 0 ? words.listeners(row.listeners ?? 0) : words.queueNone}</p>
      ) : null}
      <ol class={isFair ? "queue in-order" : "queue"}>
        {listed.map(({ holder, client, forMs }, at) => (
          <li key={`${at} ${holder ?? client?.id ?? ""}`}>
            <span>
              {client !== null ? programName(client) : holder === null ? words.unknownWaiter : shown(holder)}
              {client?.pid == null ? null : <span class="dim"> {words.pid(client.pid)}</span>}
            </span>
            {forMs === null ? null : (
              <span class="number age">
                <Age ms={forMs} toldMs={toldMs} />
              </span>
            )}
          </li>
        ))}
      </ol>
      {all > listed.length ? <p class="dim">{words.andMore(all - listed.length)}</p> : null}
    </section>
  );
}

function Facts({ row }: { readonly row: LockRow }) {
  const words = useWords();
  return (
    <dl class="facts-list">
      <dt>{words.key}</dt>
      <dd class="code">{shown(row.key)}</dd>
      {row.token === null && row.kind !== "fenced-lock" ? null : (
        <>
          <dt>{words.token}</dt>
          <dd class="code">
            {row.token === null ? <span class="dim">{words.tokenNone}</span> : shown(row.token)}
          </dd>
        </>
      )}
      <dt>{words.foundBy}</dt>
      <dd>{row.sources.map((source) => words.sources[source]).join(", ")}</dd>
    </dl>
  );
}

function Changes({ detail }: { readonly detail: Told | undefined }) {
  const words = useWords();
  return (
    <section>
      <h3>{words.changes}</h3>
      {detail !== undefined && detail.changes.length === 0 ? <p class="dim">{words.changesNone}</p> : null}
      <ul class="changes">
        {detail?.changes.slice(0, 20).map(({ atMs, text }) => (
          <li key={`${atMs} ${text}`}>
            <time class="number dim">{clockText(words, atMs)}</time> <span>{shown(text)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** @param line null where a terminal would act on the name */
function UnlockLine({ line }: { readonly line: string | null }) {
  const words = useWords();
  const [isCopied, setIsCopied] = useState(false);
  return (
    <section>
      <h3>{words.shell}</h3>
      {line === null ? (
        <p class="dim">{words.copyHidden}</p>
      ) : (
        <p class="line">
          <code>{shown(line)}</code>
          <button
            type="button"
            class="small"
            data-key="c"
            onClick={() => void copyText(line).then((done) => setIsCopied(done))}
          >
            <span aria-live="polite">{isCopied ? words.copied : words.copy}</span>
          </button>
        </p>
      )}
    </section>
  );
}
