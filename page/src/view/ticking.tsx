import { useEffect, useState } from "preact/hooks";
import { durationText } from "../words/words.js";
import { useWords } from "./page-context.js";

const readers = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** All ages on the page grow at the same moment. */
function read(reader: () => void): () => void {
  readers.add(reader);
  timer ??= setInterval(() => {
    if (document.visibilityState === "visible") for (const each of readers) each();
  }, 1_000);
  return () => {
    readers.delete(reader);
    if (readers.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The time on the clock of the page; the component is redrawn every second. */
export function useNow(): number {
  const [, redraw] = useState(0);
  useEffect(() => read(() => redraw(performance.now())), []);
  return performance.now();
}

/** The present age of an event, from its age when it was reported. */
export function Age({ ms, toldMs }: { readonly ms: number; readonly toldMs: number }) {
  return <>{durationText(useWords(), ms + useNow() - toldMs)}</>;
}

/** A text that changes by itself, such as an age. */
export function Ticking({ text }: { readonly text: (nowMs: number) => string }) {
  return <>{text(useNow())}</>;
}
