import { useRef, useState } from "preact/hooks";

/** The key of the lock in each row. It is not an attribute of the element, because keys are long and strangers choose them. */
const keys = new WeakMap<Element, string>();

/** The `ref` of the button of a row. */
export function rowOf(key: string): (button: Element | null) => void {
  return (button) => {
    if (button !== null) keys.set(button, key);
  };
}

/** The button of a row. If the row is gone, the button of the row that the Tab key leads to. */
export function rowButton(key: string): HTMLElement | undefined {
  const buttons = [...document.querySelectorAll<HTMLElement>("[data-row]")];
  return buttons.find((button) => keys.get(button) === key) ?? buttons.find(({ tabIndex }) => tabIndex === 0);
}

/** Focuses the row that the Tab key leads to. */
export function focusRows(): void {
  document.querySelector<HTMLElement>("[data-row][tabindex='0']")?.focus();
}

interface RovingFocus {
  /** Whether the pointer or the focus is among the rows. */
  readonly inUse: { readonly current: boolean };
  /** The key of the row that had the focus last. */
  readonly focused: string | undefined;
  /** Properties for the body of the table. */
  readonly handlers: {
    onKeyDown(event: KeyboardEvent): void;
    onFocusIn(event: FocusEvent): void;
    onFocusOut(event: FocusEvent): void;
    onPointerEnter(): void;
    onPointerLeave(): void;
  };
}

/** The Tab key reaches one row. The arrow keys, Home and End lead from there to the other rows. */
export function useRovingFocus(): RovingFocus {
  const inUse = useRef(false);
  const [focused, setFocused] = useState<string>();
  const used = useRef({ pointer: false, focus: false }).current;
  const use = (changes: Partial<typeof used>) => {
    Object.assign(used, changes);
    inUse.current = used.pointer || used.focus;
  };
  return {
    inUse,
    focused,
    handlers: {
      onKeyDown: moveFocus,
      onFocusIn({ target }) {
        use({ focus: true });
        if (target instanceof HTMLElement) setFocused(keys.get(target));
      },
      onFocusOut: () => use({ focus: false }),
      onPointerEnter: () => use({ pointer: true }),
      onPointerLeave: () => use({ pointer: false }),
    },
  };
}

const PAGE_ROWS = 10;

function moveFocus(event: KeyboardEvent): void {
  const { target, currentTarget, key, altKey, ctrlKey, metaKey } = event;
  if (altKey || ctrlKey || metaKey) return;
  if (!(target instanceof HTMLElement) || !(currentTarget instanceof HTMLElement)) return;
  const rows = [...currentTarget.querySelectorAll<HTMLElement>("[data-row]")];
  const at = rows.indexOf(target);
  if (at < 0) return;
  const to = targetOf(key, at, rows.length);
  if (to === undefined) return;
  event.preventDefault();
  rows[Math.min(rows.length - 1, Math.max(0, to))]?.focus();
}

function targetOf(key: string, at: number, rows: number): number | undefined {
  switch (key) {
    case "ArrowDown":
    case "j":
      return at + 1;
    case "ArrowUp":
    case "k":
      return at - 1;
    case "PageDown":
      return at + PAGE_ROWS;
    case "PageUp":
      return at - PAGE_ROWS;
    case "Home":
      return 0;
    case "End":
      return rows - 1;
    default:
      return undefined;
  }
}
