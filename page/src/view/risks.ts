import type { LockRow } from "../../../src/inspector/format.js";
import { shown } from "../text/shown.js";
import type { Words } from "../words/en.js";
import { durationText } from "../words/words.js";
import { isWriter } from "./names.js";

/** The risks of freeing this lock, in sentences. */
export function risksOf(words: Words, { kind, holders, waiting, token, more, ttlMs }: LockRow): string[] {
  const risks: string[] = [];
  const has = (by: string) => holders.some((holder) => holder.by === by);
  if (holders.some(({ client }) => client?.state === "gone")) risks.push(words.riskGone);
  if (has("jvm")) risks.push(words.riskJvm);
  if (has("other")) risks.push(words.riskOther);
  const ours = holders.filter(({ by }) => by === "holdfast");
  if (ours.some(({ renewed }) => renewed === false)) risks.push(words.riskFixed);
  if (ours.some(({ renewed }) => renewed === true)) risks.push(words.riskHoldfast);
  if (ours.some(({ renewed }) => renewed === null))
    risks.push(ttlMs < 0 ? words.riskEndless : words.riskUnknown(durationText(words, ttlMs)));
  if (kind === "read-write-lock") {
    const count = holders.length + more.holders;
    if (holders.some(isWriter)) risks.push(words.riskWrite);
    else if (count > 1) risks.push(words.riskRead(count));
  }
  if (kind === "fair-lock" && waiting.length > 0) risks.push(words.riskFair);
  if (token !== null) risks.push(words.riskFenced(shown(token)));
  return [...risks, words.riskStill];
}
