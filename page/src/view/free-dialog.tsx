import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Freed } from "../../../src/inspector/format.js";
import { ageOf } from "../data/arrangement.js";
import { RefusedError } from "../data/requests.js";
import type { SeenLock } from "../data/store.js";
import { shown } from "../text/shown.js";
import type { Words } from "../words/en.js";
import { fullHolderName, holderName } from "./names.js";
import { usePage } from "./page-context.js";
import { risksOf } from "./risks.js";
import { Age } from "./ticking.js";

interface FreeDialogProps {
  /** As it was when the dialog was opened: this, and nothing else, is freed. */
  readonly lock: SeenLock;
  /** As it is now. */
  readonly now: SeenLock | undefined;
  lookAgain(): void;
  close(): void;
}

/** Asks before a lock is taken from its holder: says from which, and what can go wrong. */
export function FreeDialog({ lock, now, lookAgain, close }: FreeDialogProps) {
  const { words, requests } = usePage();
  const { row } = lock;
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [typed, setTyped] = useState("");
  const [reason, setReason] = useState("");
  const [outcome, setOutcome] = useState<Outcome>();
  const [isBusy, setIsBusy] = useState(false);
  useEffect(() => {
    const { current } = dialog;
    if (current !== null && !current.open) current.showModal();
  }, []);
  const name = shown(row.name);
  const isSure = typed === name || typed === row.name;
  const free = async (event: Event) => {
    event.preventDefault();
    if (!isSure || isBusy || outcome !== undefined) return;
    setIsBusy(true);
    try {
      const freed = await requests.free(row.key, row.seen, reason);
      setOutcome({ text: outcomeText(words, freed), is: freed.outcome });
    } catch (error) {
      setOutcome({ text: failureText(words, error), is: "failed" });
    }
    setIsBusy(false);
  };
  const hasChanged = outcome === undefined && now?.row.seen !== row.seen;
  const next = now?.row.seen === row.seen ? undefined : now?.row.holders[0];
  return (
    <dialog ref={dialog} class="free" aria-labelledby={`${id}-title`} onClose={close}>
      <form onSubmit={(event) => void free(event)}>
        <h2 id={`${id}-title`}>{words.freeTitle(name)}</h2>
        <Seen words={words} lock={lock} />
        <ul class="risks">
          {risksOf(words, row).map((risk) => (
            <li key={risk}>{risk}</li>
          ))}
        </ul>
        <div class="say" role="status">
          {hasChanged ? (
            <p class="warning">
              {words.changedMeanwhile}{" "}
              <button type="button" class="small" onClick={now === undefined ? close : lookAgain}>
                {words.lookAgain}
              </button>
            </p>
          ) : null}
          {outcome === undefined ? null : (
            <p class={outcome.is === "released" || outcome.is === "absent" ? "good" : "warning"}>
              {outcome.is === "released" && next !== undefined
                ? words.releasedTo(holderName(words, next))
                : outcome.text}
            </p>
          )}
        </div>
        {outcome === undefined ? (
          <>
            <label>
              <span>{words.freeType(name)}</span>
              <input
                class="code"
                autocomplete="off"
                autocapitalize="off"
                spellcheck={false}
                value={typed}
                onInput={({ currentTarget }) => setTyped(currentTarget.value)}
              />
            </label>
            <label>
              <span>{words.freeReason}</span>
              <input
                autocomplete="off"
                maxLength={200}
                value={reason}
                onInput={({ currentTarget }) => setReason(currentTarget.value)}
              />
            </label>
          </>
        ) : null}
        <p class="actions">
          <button type="button" onClick={() => dialog.current?.close()}>
            {outcome === undefined ? words.cancel : words.close}
          </button>
          {outcome === undefined ? (
            <button type="submit" class="danger" disabled={!isSure || isBusy}>
              {isBusy ? words.freeing : words.freeDo}
            </button>
          ) : null}
        </p>
      </form>
    </dialog>
  );
}

interface Outcome {
  readonly text: string;
  readonly is: Freed["outcome"] | "failed";
}

function Seen({ words, lock: { row, toldMs } }: { readonly words: Words; readonly lock: SeenLock }) {
  const ageMs = ageOf(row);
  const notes = row.holders.flatMap(({ note }) => (note === null ? [] : [shown(note)]));
  const holders = row.holders.slice(0, 5).map((holder) => fullHolderName(words, holder));
  const others = row.holders.length - holders.length + row.more.holders;
  return (
    <dl class="facts-list">
      <dt>{words.heldBy}</dt>
      <dd>
        {holders.map((holder) => (
          <span key={holder} class="each">
            {holder}
          </span>
        ))}
        {others > 0 ? <span class="each">{words.andMore(others)}</span> : null}
      </dd>
      {ageMs === null ? null : (
        <>
          <dt>{words.since}</dt>
          <dd class="number">
            <Age ms={ageMs} toldMs={toldMs} />
          </dd>
        </>
      )}
      {notes.length === 0 ? null : (
        <>
          <dt>{words.freeNote}</dt>
          <dd>{notes.slice(0, 5).join(" · ")}</dd>
        </>
      )}
    </dl>
  );
}

function outcomeText(words: Words, { outcome, now }: Freed): string {
  if (outcome === "released") return words.released;
  if (outcome === "absent") return words.absent;
  return now === null ? words.changedUnknown : words.changed(shown(now));
}

function failureText(words: Words, error: unknown): string {
  if (error instanceof RefusedError && error.status === 429) return words.freeTooMany;
  if (error instanceof RefusedError && error.nothingDone) return words.freeRefused(shown(error.reason));
  return words.freeFailed(error instanceof Error ? shown(error.message) : "");
}
