import { tellDuration } from "../duration.js";
import type { Output, Style } from "../output.js";
import { plain, wrapped } from "../text/plain.js";
import { tellNumbers, tellPermit, tellPermitsOf } from "../text/tell-permits.js";
import type { Seen } from "../unlock/seen.js";
import { ownerOf } from "./semaphore-seen.js";

/** The most lines of permits. If there are more permits, a last line gives their number. */
const MOST_LINES = 20;
const LABEL_COLUMNS = 12;
/** Wider prose is hard to read, even on a wide terminal. */
const WIDEST = 110;
const NARROWEST = 20;

/** Prints the state of a semaphore before a change. */
export function tellSemaphore(output: Output, name: string, { state, lock, blind }: Seen): void {
  const { taken = [], takenCount = 0, key, ttlMs } = state;
  const columns = Math.max(Math.min(output.columns ?? WIDEST, WIDEST) - LABEL_COLUMNS, NARROWEST);
  const tell = (label: string, lines: readonly string[], style?: Style) => {
    const fitting = lines.flatMap((line) => wrapped(line, columns));
    for (const [at, line] of fitting.entries()) {
      const margin = `  ${at === 0 ? label : ""}`.padEnd(LABEL_COLUMNS);
      output.line(output.paint("dim", margin) + (style === undefined ? line : output.paint(style, line)));
    }
  };
  output.line(output.paint("bold", plain(name)));
  tell("permits", [tellNumbers(state)]);
  if (key !== name) tell("key", [plain(key)]);
  for (const [at, holder] of lock.holders.slice(0, MOST_LINES).entries()) {
    tell(
      at === 0 ? "taken by" : "",
      [tellPermitsOf(holder)],
      holder.client?.state === "gone" ? "yellow" : undefined,
    );
    tell("", [plain(holder.holder)], "dim");
  }
  for (const [at, permit] of taken.slice(0, MOST_LINES).entries())
    tell(at === 0 ? "taken" : "", [tellPermit(permit, ownerOf(lock.holders, permit.id))]);
  if (takenCount > MOST_LINES) tell("", [`${takenCount} in all: --json has them`]);
  if (ttlMs >= 0) tell("ends", [`in ${tellDuration(ttlMs)}, with all its permits`]);
  if (blind !== undefined) tell("", [`presence can not be read: ${plain(blind)}`], "yellow");
}
