import type { Freed } from "../../../src/inspector/format.js";
import { ageOf } from "../data/arrangement.js";
import type { SeenLock } from "../data/store.js";
import { shown } from "../text/shown.js";
import type { Words } from "../words/en.js";
import { ConfirmDialog } from "./confirm-dialog.js";
import { fullHolderName, holderName } from "./names.js";
import { usePage } from "./page-context.js";
import { risksOf } from "./risks.js";
import { Age } from "./ticking.js";

interface FreeDialogProps {
  /** The lock as it was when the dialog was opened: it is freed only if its holders have not changed since then. */
  readonly lock: SeenLock;
  /** The lock as it is now. */
  readonly now: SeenLock | undefined;
  lookAgain(): void;
  close(): void;
}

/** Asks before a lock is taken from its holder. */
export function FreeDialog({ lock, now, lookAgain, close }: FreeDialogProps) {
  const { words, requests } = usePage();
  const { row } = lock;
  const next = now?.row.seen === row.seen ? undefined : now?.row.holders[0];
  const told = ({ outcome, now: holder }: Freed) => {
    if (outcome === "released")
      return next === undefined ? words.released : words.releasedTo(holderName(words, next));
    if (outcome === "absent") return words.absent;
    return holder === null ? words.changedUnknown : words.changed(shown(holder));
  };
  return (
    <ConfirmDialog
      title={words.freeTitle(shown(row.name))}
      name={row.name}
      facts={<Seen words={words} lock={lock} />}
      risks={risksOf(words, row)}
      hasChanged={now?.row.seen !== row.seen}
      doIt={words.freeDo}
      act={(reason) => requests.free(row.key, row.seen, reason)}
      told={told}
      lookAgain={now === undefined ? close : lookAgain}
      close={close}
    />
  );
}

function Seen({ words, lock: { row, toldMs } }: { readonly words: Words; readonly lock: SeenLock }) {
  const ageMs = ageOf(row);
  const notes = row.holders.flatMap(({ note }) => (note === null ? [] : [shown(note)]));
  const holders = row.holders.slice(0, 5).map((holder) => fullHolderName(words, holder));
  const others = row.holders.length - holders.length + row.more.holders;
  return (
    <>
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
    </>
  );
}
