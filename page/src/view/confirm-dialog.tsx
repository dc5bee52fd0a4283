import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Freed } from "../../../src/inspector/format.js";
import { RefusedError } from "../data/requests.js";
import { shown } from "../text/shown.js";
import type { Words } from "../words/en.js";
import { usePage } from "./page-context.js";

interface ConfirmDialogProps {
  readonly title: string;
  /** The name that the user must type. */
  readonly name: string;
  /** What is taken by force, and from which holder. */
  readonly facts: ComponentChildren;
  readonly risks: readonly string[];
  /** Whether the lock or the permits have changed since the dialog was opened. */
  readonly hasChanged: boolean;
  readonly doIt: string;
  act(reason: string): Promise<Freed>;
  told(freed: Freed): string;
  lookAgain(): void;
  close(): void;
}

type Outcome = { readonly freed: Freed } | { readonly failure: string };

/** Asks before something is taken by force: names the holder and the risks. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { title, name, facts, risks, hasChanged, doIt, act, told, lookAgain, close } = props;
  const { words } = usePage();
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
  const isSure = typed === name || typed === shown(name);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (!isSure || isBusy || outcome !== undefined) return;
    setIsBusy(true);
    try {
      setOutcome({ freed: await act(reason) });
    } catch (error) {
      setOutcome({ failure: failureText(words, error) });
    }
    setIsBusy(false);
  };
  return (
    <dialog ref={dialog} class="free" aria-labelledby={`${id}-title`} onClose={close}>
      <form onSubmit={(event) => void submit(event)}>
        <h2 id={`${id}-title`}>{title}</h2>
        <dl class="facts-list">{facts}</dl>
        <ul class="risks">
          {risks.map((risk) => (
            <li key={risk}>{risk}</li>
          ))}
        </ul>
        <div class="say" role="status">
          {hasChanged && outcome === undefined ? (
            <p class="warning">
              {words.changedMeanwhile}{" "}
              <button type="button" class="small" onClick={lookAgain}>
                {words.lookAgain}
              </button>
            </p>
          ) : null}
          {outcome === undefined ? null : (
            <p class={"freed" in outcome && outcome.freed.outcome !== "changed" ? "good" : "warning"}>
              {"freed" in outcome ? told(outcome.freed) : outcome.failure}
            </p>
          )}
        </div>
        {outcome === undefined ? (
          <>
            <label>
              <span>{words.freeType(shown(name))}</span>
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
              {isBusy ? words.freeing : doIt}
            </button>
          ) : null}
        </p>
      </form>
    </dialog>
  );
}

function failureText(words: Words, error: unknown): string {
  if (error instanceof RefusedError && error.status === 429) return words.freeTooMany;
  if (error instanceof RefusedError && error.nothingDone) return words.freeRefused(shown(error.reason));
  return words.freeFailed(error instanceof Error ? shown(error.message) : "");
}
