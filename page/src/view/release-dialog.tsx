import type { LockRow } from "../../../src/inspector/format.js";
import { shown } from "../text/shown.js";
import type { Words } from "../words/en.js";
import { ConfirmDialog } from "./confirm-dialog.js";
import { fullHolderName } from "./names.js";
import { usePage } from "./page-context.js";

/** Permits that are out, as the page showed them. */
export interface PermitsOut {
  readonly ids: readonly string[];
  /** Null if no client reports them as its own. */
  readonly holder: LockRow["holders"][number] | null;
}

interface ReleaseDialogProps {
  readonly row: LockRow;
  /** The permits as they were when the dialog was opened: only these are given back. */
  readonly permits: PermitsOut;
  /** The ids of all permits that are out now. */
  readonly out: ReadonlySet<string>;
  close(): void;
}

const MOST_LISTED = 5;

/** Asks before the page gives back permits in place of their holder. */
export function ReleaseDialog({ row, permits: { ids, holder }, out, close }: ReleaseDialogProps) {
  const { words, requests } = usePage();
  const given = { released: words.givenBack, absent: words.backAlready, changed: words.backInPart };
  return (
    <ConfirmDialog
      title={words.giveBackTitle(words.permitsOf(ids.length), shown(row.name))}
      name={row.name}
      facts={
        <>
          <dt>{words.heldBy}</dt>
          <dd>{holder === null ? words.unknownClient : fullHolderName(words, holder)}</dd>
          <dt>{words.permits}</dt>
          <dd class="code">
            {ids.slice(0, MOST_LISTED).map((id) => (
              <span key={id} class="each">
                {id}
              </span>
            ))}
            {ids.length > MOST_LISTED ? words.andMore(ids.length - MOST_LISTED) : null}
          </dd>
        </>
      }
      risks={risksOf(words, holder)}
      hasChanged={ids.some((id) => !out.has(id))}
      doIt={words.giveBackDo}
      act={(reason) => requests.release(row.key, ids, reason)}
      told={({ outcome }) => given[outcome]}
      lookAgain={close}
      close={close}
    />
  );
}

function risksOf(words: Words, holder: PermitsOut["holder"]): string[] {
  if (holder === null) return [words.riskUnknownClient, words.riskPermitsStill];
  return [
    ...(holder.client?.state === "gone" ? [words.riskGone] : []),
    holder.permanent ? words.riskPermanent : words.riskLeased,
    words.riskPermitsStill,
  ];
}
