import type { SeenLock } from "../data/store.js";
import { durationText } from "../words/words.js";
import { useWords } from "./page-context.js";
import { useNow } from "./ticking.js";

/** How long the lock is still held if its lease is not renewed, as a meter and in seconds. */
export function LeaseMeter({ lock }: { readonly lock: SeenLock }) {
  const words = useWords();
  const nowMs = useNow();
  const { row, toldMs, fullMs } = lock;
  // The key of a semaphore has no TTL: it stays when all permits are back.
  if (row.ttlMs < 0 && !/lock$/.test(row.kind)) {
    const isEndless = (row.permanentCount ?? 0) > 0 || row.holders.some(({ permanent }) => permanent);
    return <span class="dim">{isEndless ? words.neverReturnsShort : "–"}</span>;
  }
  if (row.ttlMs < 0) return <span class="dim">{row.ttlMs === -1 ? words.noTtl : "–"}</span>;
  const leftMs = Math.max(0, row.ttlMs - (nowMs - toldMs));
  // A watchdog renews when a third of the lease has passed: if less than half is left, a renewal is late.
  const lowMs = row.holders.some(({ renewed }) => renewed) ? fullMs / 2 : 0;
  return (
    <span class="lease">
      <meter aria-label={words.lease} min={0} max={fullMs} low={lowMs} optimum={fullMs} value={leftMs} />
      <span class="number">{durationText(words, leftMs)}</span>
    </span>
  );
}
