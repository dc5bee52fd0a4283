import type { LockDetail, LockRow } from "../../../src/inspector/format.js";
import type { Words } from "../words/en.js";
import { countText, durationText } from "../words/words.js";
import { useWords } from "./page-context.js";
import type { PermitsOut } from "./release-dialog.js";
import { Ticking } from "./ticking.js";

/** How many permits are taken, and how many are available. Undefined for a lock, and for unknown numbers. */
export function numbersOf(words: Words, { kind, available, takenCount }: LockRow): string | undefined {
  if (available === undefined) return undefined;
  if (kind === "count-down-latch") return words.toCountDown(countText(words, available));
  if (takenCount === undefined) return words.available(countText(words, available));
  return words.taken(countText(words, takenCount), countText(words, available + takenCount));
}

/** When a client's permits return by themselves: never, if their lease is not renewed, or at a fixed time. */
export function endOf(words: Words, { permanent, renewed }: LockRow["holders"][number]): readonly string[] {
  if (permanent) return [words.neverReturns];
  return renewed === null ? [] : [renewed ? words.renewed : words.notRenewed];
}

interface PermitListProps {
  readonly permits: PermitsOut;
  /** All permits that are out, as Redis has them, and the time of the report. */
  readonly all: readonly TakenPermit[];
  readonly toldMs: number;
  /** Undefined if the user may only look. */
  readonly giveBack: ((permits: PermitsOut) => void) | undefined;
}

type TakenPermit = NonNullable<LockDetail["permits"]>[number];

const MOST_LISTED = 20;
/** The most permits that a request may name. */
const MOST_GIVEN_BACK = 100;

/** Permits one by one, with the button that gives them back. */
export function PermitList({ permits, all, toldMs, giveBack }: PermitListProps) {
  const words = useWords();
  const { ids, holder } = permits;
  if (ids.length === 0) return null;
  const listed = all.filter(({ id }) => ids.includes(id)).slice(0, MOST_LISTED);
  const endIn = (left: string) => (holder?.renewed ? `${words.lease} ${left}` : words.returnsIn(left));
  return (
    <>
      <ul class="permits">
        {listed.map(({ id, endsInMs }) => (
          <li key={id}>
            <span class="code">{id}</span>{" "}
            <span class="number dim small">
              {endsInMs < 0 ? (
                words.neverReturnsShort
              ) : (
                <Ticking text={(nowMs) => endIn(durationText(words, endsInMs - (nowMs - toldMs)))} />
              )}
            </span>
          </li>
        ))}
      </ul>
      {ids.length > listed.length ? (
        <p class="dim small">{words.andMore(ids.length - listed.length)}</p>
      ) : null}
      {giveBack === undefined ? null : (
        <button
          type="button"
          class="small danger"
          onClick={() => giveBack({ ...permits, ids: ids.slice(0, MOST_GIVEN_BACK) })}
        >
          {words.giveBack}
        </button>
      )}
    </>
  );
}
