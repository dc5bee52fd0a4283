import { useEffect, useRef, useState } from "preact/hooks";
import type { LockDetail, LockRow } from "../../../src/inspector/format.js";
import type { SeenLock, View } from "../data/store.js";
import { shown } from "../text/shown.js";
import { clockText } from "../words/words.js";
import { Badges } from "./badges.js";
import { copyText } from "./clipboard.js";
import { FreeDialog } from "./free-dialog.js";
import { Holders, MOST_LISTED } from "./holders.js";
import { LeaseMeter } from "./lease-meter.js";
import { programName } from "./names.js";
import { usePage, useWords } from "./page-context.js";
import { numbersOf } from "./permits.js";
import { Age } from "./ticking.js";

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
  const isCount = fromFeed !== undefined && !/lock$/.test(fromFeed.row.kind);
  // The feed does not have the ids of permits. Details are read again when permits are taken or given back, but not when a call begins to
  // wait.
  const lock = (isCount ? detail?.seen : undefined) ?? fromFeed ?? detail?.seen;
  const name = shown(lock?.row.name ?? lockKey);
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
          <Holders view={view} lock={lock} detail={detail} lookAgain={lookAgain} />
          <Queue lock={fromFeed ?? lock} />
          <Facts row={lock.row} />
        </>
      )}
      <Changes detail={detail} />
      {failure === undefined ? null : <p class="failure">{words.panelFailed(failure)}</p>}
      {detail !== undefined && lock !== undefined && (detail.unlock !== null || canBeFreed(lock.row)) ? (
        <UnlockLine key={lockKey} line={detail.unlock} />
      ) : null}
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

/** An object without stored holders is not freed, because there is nothing to compare. */
function canBeFreed({ kind, holders }: LockRow): boolean {
  return holders.length > 0 && /lock$/.test(kind);
}

type Told = LockDetail & { readonly seen: SeenLock | undefined };

/**
 * Reads the details again whenever the feed has a new state of the lock. If the feed does not have the lock, reads the details with each
 * message of the feed.
 */
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
  const { holders, permanentCount = 0 } = lock.row;
  const numbers = numbersOf(words, lock.row);
  if (numbers !== undefined) {
    const never = permanentCount === 0 ? "" : `, ${words.neverReturn(permanentCount)}`;
    return <p class="wide-lease number">{numbers + never}</p>;
  }
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

function Queue({ lock }: { readonly lock: SeenLock }) {
  const words = useWords();
  const { row, toldMs } = lock;
  const listed = row.waiting.slice(0, MOST_LISTED);
  const all = row.waiting.length + row.more.waiting;
  // Waiters that only presence reports come after all waiters of the queue.
  const [isInOrder, isPartly] = [row.waiting.every(hasPlace), row.waiting.some(hasPlace)];
  const heading = isInOrder
    ? words.queueFair(all)
    : isPartly
      ? words.queuePartly(all)
      : words.queueLoose(all);
  return (
    <section>
      <h3>{all === 0 ? words.queue : all === 1 ? words.queueLoose(all) : heading}</h3>
      {all === 0 ? (
        <p class="dim">{(row.listeners ?? 0) > 0 ? words.listeners(row.listeners ?? 0) : words.queueNone}</p>
      ) : null}
      <ol class={isPartly ? "queue in-order" : "queue"}>
        {listed.map(({ holder, client, forMs, note }, at) => (
          <li key={`${at} ${holder ?? client?.id ?? ""}`} class={holder === null ? "" : "has-place"}>
            <span>
              {client !== null ? programName(client) : holder === null ? words.unknownWaiter : shown(holder)}
              {client?.pid == null ? null : <span class="dim"> {words.pid(client.pid)}</span>}
              {note === null ? null : <span class="dim"> · {shown(note)}</span>}
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

function hasPlace({ holder }: LockRow["waiting"][number]): boolean {
  return holder !== null;
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

/** @param line null if the name contains characters that a terminal acts on */
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
