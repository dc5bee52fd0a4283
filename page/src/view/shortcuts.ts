import { useEffect, useState } from "preact/hooks";
import { type Route, screens } from "./route.js";
import { focusRows } from "./roving-focus.js";

const STORED = "holdfast-inspector-letters";

interface Shortcuts {
  setRoute(changes: Partial<Route>): void;
  openHelp(): void;
}

/** Shortcuts of a single key. They can be turned off, as WCAG 2.1.4 requires. */
export function useShortcuts({ setRoute, openHelp }: Shortcuts) {
  const [areOn, setAreOn] = useState(() => stored() !== "off");
  useEffect(() => {
    if (!areOn) return;
    const onKeyDown = (event: KeyboardEvent) => {
      const { key, altKey, ctrlKey, metaKey, target, defaultPrevented } = event;
      if (altKey || ctrlKey || metaKey || defaultPrevented || isTyping(target)) return;
      const screen = screens[Number(key) - 1];
      if (screen !== undefined) setRoute({ screen, lock: null });
      else if (key === "?") openHelp();
      else if (key === "/") focusFilter(setRoute);
      else if (key === "s") dispatchEvent(new Event("holdfast:sort"));
      else if (key === "j" || key === "k" || (/^Arrow(?:Up|Down)$/.test(key) && isIdle(target))) focusRows();
      else if (key === "c" || key === "f")
        document.querySelector<HTMLElement>(`[data-key="${key}"]`)?.click();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, [areOn, setRoute, openHelp]);
  const set = (isOn: boolean) => {
    setAreOn(isOn);
    try {
      localStorage.setItem(STORED, isOn ? "on" : "off");
    } catch {
      // Without storage, the choice lasts only as long as the page is open.
    }
  };
  return { areOn, set };
}

function stored(): string | null {
  try {
    return localStorage.getItem(STORED);
  } catch {
    return null;
  }
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.closest("input, textarea, select, dialog") !== null;
}

/** Whether the focus is on the page as a whole, and not on an element that uses the arrow keys itself. */
function isIdle(target: EventTarget | null): boolean {
  return target === document.body || target === document.getElementById("content");
}

/** If the filter is on the screen, it gets the focus at once, because the user may type the next key right away. */
function focusFilter(setRoute: Shortcuts["setRoute"]): void {
  if (hasFilterFocus()) return;
  setRoute({ screen: "locks" });
  requestAnimationFrame(hasFilterFocus);
}

function hasFilterFocus(): boolean {
  const filter = document.getElementById("filter");
  if (filter instanceof HTMLInputElement) filter.select();
  filter?.focus();
  return filter !== null;
}
