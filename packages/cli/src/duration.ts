import { mistake } from "./failure.js";

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;
/** The longest duration that holdfast accepts. */
const MOST_MS = 10 * 365 * 24 * 3_600_000;

interface Bounds {
  readonly atLeastMs?: number;
  /** Default: ten years. */
  readonly atMostMs?: number;
  /** Whether `forever` is allowed. */
  readonly endless?: boolean;
}

/**
 * Reads `500ms`, `30s`, `1.5m`, `2h` and, if allowed, `forever`.
 * @param option the option as it is typed, for messages
 * @returns whole milliseconds; Infinity for `forever`
 * @throws Failure for a number without a unit, and for any other text
 */
export function readDuration(
  option: string,
  text: string,
  { atLeastMs = 0, atMostMs = MOST_MS, endless = false }: Bounds = {},
): number {
  if (endless && text === "forever") return Number.POSITIVE_INFINITY;
  const [, number = "", unit = ""] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text) ?? [];
  if (number === "") {
    const forms = endless ? "500ms, 30s, 5m, 2h or forever" : "500ms, 30s, 5m or 2h";
    throw mistake(`${option} must be a duration such as ${forms}, got "${text}"`);
  }
  if (unit === "") throw mistake(`${option} has no unit: write ${number}s or ${number}ms`);
  const ms = Math.round(Number(number) * UNITS[unit as keyof typeof UNITS]);
  if (ms < atLeastMs) throw mistake(`${option} must be at least ${writeDuration(atLeastMs)}, got ${text}`);
  if (ms > atMostMs) {
    const most = atMostMs === MOST_MS ? "ten years" : writeDuration(atMostMs);
    throw mistake(`${option} must be at most ${most}, got ${text}`);
  }
  return ms;
}

/** A duration in the form that {@link readDuration} reads, in the largest unit that needs no fraction. */
export function writeDuration(ms: number): string {
  if (ms === Number.POSITIVE_INFINITY) return "forever";
  for (const unit of ["h", "m", "s"] as const)
    if (ms > 0 && ms % UNITS[unit] === 0) return `${ms / UNITS[unit]}${unit}`;
  return `${Math.round(ms)}ms`;
}

/** A duration as text for people, in a unit that gives it about two digits: `850 ms`, `41 s`, `12 min`, `3 h`, `2 d`. */
export function tellDuration(ms: number): string {
  const wholeMs = Math.max(0, Math.round(ms));
  if (wholeMs < 1_000) return `${wholeMs} ms`;
  const steps = [
    [60_000, 1_000, "s"],
    [100 * 60_000, 60_000, "min"],
    [48 * 3_600_000, 3_600_000, "h"],
  ] as const;
  for (const [belowMs, unitMs, unit] of steps)
    if (wholeMs < belowMs) return `${Math.floor(wholeMs / unitMs)} ${unit}`;
  return `${Math.floor(wholeMs / (24 * 3_600_000))} d`;
}
