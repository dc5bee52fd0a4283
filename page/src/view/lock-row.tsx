import type { LockRow } from "../../../src/inspector/format.js";
import { ageOf } from "../data/arrangement.js";
import { type Steps, waitingFor } from "../data/contention.js";
import type { SeenLock } from "../data/store.js";
import { shown } from "../text/shown.js";
import type { Words } from "../words/en.js";
import { Badges, isStale } from "./badges.js";
import { LeaseMeter } from "./lease-meter.js";
import { memo } from "./memo.js";
import { holderName } from "./names.js";
import { usePage } from "./page-context.js";
import { numbersOf } from "./permits.js";
import { rowOf } from "./roving-focus.js";
import { Sparkline } from "./sparkline.js";
import { Age } from "./ticking.js";

export interface LockRowProps {
  readonly lock: SeenLock;
  readonly steps: Steps | undefined;
  readonly isFreed: boolean;
  readonly isOpen: boolean;
  /** Whether this is the only row that the Tab key leads to. */
  readonly hasTab: boolean;
}

/** A lock in the table. The name is a button that opens the lock; a click anywhere in the row opens it too. */
export const LockTableRow = memo(function LockTableRow({
  lock,
  steps,
  isFreed,
  isOpen,
  hasTab,
}: LockRowProps) {
  const { words, openLock } = usePage();
  const { row, toldMs } = lock;
  const open = () => openLock(row.key);
  const ageMs = ageOf(row);
  const waiting = waitingFor(row);
  const longestMs = longestWaitOf(row);
  return (
    <tr class={rowClass(row, isFreed, isOpen)} onClick={open}>
      <th scope="row" class="c-name">
        <button
          type="button"
          class="name"
          data-row
          ref={rowOf(row.key)}
          tabIndex={hasTab ? 0 : -1}
          aria-expanded={isOpen}
        >
          {shown(row.name)}
        </button>
      </th>
      <td class="c-kind">{words.kinds[row.kind]}</td>
      <td class="c-holder">{isFreed ? <em>{words.freedRow}</em> : <Holders words={words} row={row} />}</td>
      <td class="c-age number">
        {ageMs === null || isFreed ? <span class="dim">–</span> : <Age ms={ageMs} toldMs={toldMs} />}
      </td>
      <td class="c-lease">{isFreed ? null : <LeaseMeter lock={lock} />}</td>
      <td class="c-waiting number">{waiting > 0 ? waiting : <Listeners words={words} row={row} />}</td>
      <td class="c-longest number">
        {longestMs === null ? <span class="dim">–</span> : <Age ms={longestMs} toldMs={toldMs} />}
      </td>
      <td class="c-spark">
        <Sparkline steps={steps} />
      </td>
      <td class="c-state">
        <Badges lock={row} />
      </td>
    </tr>
  );
});

function rowClass(row: LockRow, isFreed: boolean, isOpen: boolean): string {
  const marks = {
    "is-stale": isStale(row),
    "is-awaited": waitingFor(row) > 0,
    "is-freed": isFreed,
    "is-open": isOpen,
  };
  return Object.entries(marks)
    .flatMap(([mark, isOn]) => (isOn ? [mark] : []))
    .join(" ");
}

function Holders({ words, row }: { readonly words: Words; readonly row: LockRow }) {
  const [first] = row.holders;
  const numbers = numbersOf(words, row);
  if (first === undefined) return <span class="dim number">{numbers ?? words.nobody}</span>;
  const others = row.holders.length - 1 + row.more.holders;
  const { client, note } = first;
  return (
    <>
      {numbers === undefined ? null : <span class="numbers">{numbers} · </span>}
      <span class={client === null ? "holder dim" : "holder"}>{holderName(words, first)}</span>
      {client?.pid == null ? null : <span class="dim pid"> {words.pid(client.pid)}</span>}
      {others > 0 ? <span> {words.andMore(others)}</span> : null}
      {note === null ? null : <span class="dim"> · {shown(note)}</span>}
    </>
  );
}

function Listeners({ words, row }: { readonly words: Words; readonly row: LockRow }) {
  const { listeners = 0 } = row;
  if (listeners === 0 || row.holders.every(({ client }) => client !== null))
    return <span class="dim">–</span>;
  return (
    <span class="dim" title={words.listeners(listeners)}>
      ≤ {listeners}
    </span>
  );
}

function longestWaitOf({ waiting }: LockRow): number | null {
  const waits = waiting.flatMap(({ forMs }) => (forMs === null ? [] : [forMs]));
  return waits.length === 0 ? null : Math.max(...waits);
}
