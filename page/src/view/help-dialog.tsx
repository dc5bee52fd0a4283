import { useEffect, useRef } from "preact/hooks";
import { useWords } from "./page-context.js";

interface HelpDialogProps {
  readonly lettersAreOn: boolean;
  setLetters(isOn: boolean): void;
  close(): void;
}

/** The shortcut keys. */
export function HelpDialog({ lettersAreOn, setLetters, close }: HelpDialogProps) {
  const words = useWords();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const { helpKeys } = words;
  const keys: readonly (readonly [string, string])[] = [
    ["/", helpKeys.filter],
    ["1 2 3 4", helpKeys.screens],
    ["↑ ↓ j k", helpKeys.move],
    ["Enter", helpKeys.open],
    ["Esc", helpKeys.close],
    ["c", helpKeys.copy],
    ["f", helpKeys.free],
    ["s", helpKeys.sort],
    ["?", helpKeys.help],
  ];
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={close}>
      <h2 id="help-title">{words.help}</h2>
      <dl class="keys">
        {keys.map(([key, text]) => (
          <div key={key}>
            <dt>
              {key.split(" ").map((each) => (
                <kbd key={each}>{each}</kbd>
              ))}
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <label class="check">
        <input
          type="checkbox"
          checked={lettersAreOn}
          onChange={({ currentTarget }) => setLetters(currentTarget.checked)}
        />
        <span>{words.helpOff}</span>
      </label>
      <p class="actions">
        <button type="button" onClick={() => dialog.current?.close()}>
          {words.close}
        </button>
      </p>
    </dialog>
  );
}
