import type { Words } from "./en.js";

/** Loads only the language that is used. */
export async function wordsFor(language: string): Promise<Words> {
  return /^zh\b/i.test(language) ? (await import("./zh.js")).zh : (await import("./en.js")).en;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `41 s`, `3 min 20 s`, `2 h 14 min`: two units at most. */
export function durationText(words: Words, ms: number): string {
  if (ms < MINUTE) return words.seconds(String(Math.max(0, Math.floor(ms / SECOND))));
  if (ms < HOUR) return words.minutes(String(Math.floor(ms / MINUTE)), two((ms % MINUTE) / SECOND));
  if (ms < DAY) return words.hours(String(Math.floor(ms / HOUR)), two((ms % HOUR) / MINUTE));
  return words.days(String(Math.floor(ms / DAY)), String(Math.floor((ms % DAY) / HOUR)));
}

/** Like {@link durationText}, but with milliseconds below a second: `120 ms`. */
export function waitText(words: Words, ms: number): string {
  return ms > 0 && ms < SECOND ? words.ms(String(Math.round(ms))) : durationText(words, ms);
}

function two(value: number): string {
  return String(Math.floor(value)).padStart(2, "0");
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** The time of day in the time zone of the browser. */
export function clockText(words: Words, atMs: number, withSeconds = true): string {
  const name = `${words.lang} ${withSeconds}`;
  const format =
    formats.get(name) ??
    new Intl.DateTimeFormat(words.lang, {
      hour: "2-digit",
      minute: "2-digit",
      ...(withSeconds ? { second: "2-digit" } : {}),
      hourCycle: "h23",
    });
  formats.set(name, format);
  return format.format(atMs);
}

export function countText(words: Words, count: number): string {
  return count.toLocaleString(words.lang);
}
