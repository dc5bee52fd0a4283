import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";

/** A schedule takes some milliseconds. */
const LONGEST_SILENCE_MS = 20_000;

export const usage = `npm run simulate -- [options]

Plays schedules of whole fleets, each decided by one number, and checks what the locks promise.

  --schedules N         how many (10,000, or as many as fit when --minutes is given)
  --minutes M           ends after so long
  --seed S              the first seed, the others follow it; "day" (the default) makes one of the date
  --only fair,red       only schedules of these kinds
  --workers K           processes (one for each core)
  --shrink-seconds T    how long to look for a smaller schedule that breaks the same promise (30)
  --json FILE           writes the table as JSON as well

  --replay FILE|SEED    plays one schedule, kept in a file or made of a seed, and shows its timeline
  --trace               with each script call: the keys before and after it

  --defects [NAMES]     plants each defect in a copy of the sources, and tells which are found
  --mutants [NAMES]     the same with one-token mutants of the deciding code
  --scenes              plays all orders of small scenes: --only KINDS, --named TEXT, --small; --list 0,2,1 plays one
  --exceptions [FIRST SEED] [SEEDS] [PART OF A NAME]
                        looks for a schedule of each documented exception that none shows any more, and keeps it
  --help
`;

export interface CampaignOptions {
  readonly firstSeed: number;
  /** Infinity: until the time is over. */
  readonly schedules: number;
  readonly minutes: number;
  readonly workers: number;
  readonly only?: readonly string[];
  readonly shrinkSeconds: number;
  /** A worker that tells of no schedule for longer than this hangs. */
  readonly longestSilenceMs: number;
  readonly jsonFile?: string;
}

export type Wish =
  | { readonly do: "help" }
  | { readonly do: "play"; readonly options: CampaignOptions }
  | {
      readonly do: "replay";
      readonly what: string;
      readonly trace: boolean;
      readonly only?: readonly string[];
    }
  | { readonly do: "defects" | "mutants" | "scenes" | "exceptions"; readonly args: readonly string[] };

/** What cannot be done as it was asked for. The message is for the one who typed it. */
export class UsageError extends Error {}

const numbered = {
  schedules: { type: "string" },
  minutes: { type: "string" },
  workers: { type: "string" },
  "shrink-seconds": { type: "string" },
} as const;

const known = {
  ...numbered,
  seed: { type: "string" },
  only: { type: "string" },
  json: { type: "string" },
  replay: { type: "string" },
  trace: { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const;

/** @throws UsageError */
export function parseWish(args: readonly string[], kinds: readonly string[], today = new Date()): Wish {
  const lists = ["defects", "mutants", "scenes", "exceptions"] as const;
  const list = lists.find((name) => args.includes(`--${name}`));
  if (args.includes("--help") && list === undefined) return { do: "help" };
  if (list !== undefined) return { do: list, args: args.filter((arg) => arg !== `--${list}`) };
  const values = parsed(args);
  if (values.help) return { do: "help" };
  const only = values.only === undefined ? {} : { only: kindsOf(values.only, kinds) };
  if (values.replay !== undefined) {
    return { do: "replay", what: values.replay, trace: values.trace ?? false, ...only };
  }
  if (values.trace) throw new UsageError("--trace shows the keys of one schedule: it needs --replay FILE");
  const minutes = number("minutes", values.minutes, Number.POSITIVE_INFINITY);
  const options: CampaignOptions = {
    firstSeed: seedOf(values.seed ?? "day", today),
    schedules: whole(
      "schedules",
      values.schedules,
      values.minutes === undefined ? 10_000 : Number.POSITIVE_INFINITY,
    ),
    minutes,
    workers: whole("workers", values.workers, availableParallelism()),
    longestSilenceMs: LONGEST_SILENCE_MS,
    shrinkSeconds: number("shrink-seconds", values["shrink-seconds"], 30),
    ...only,
    ...(values.json === undefined ? {} : { jsonFile: values.json }),
  };
  return { do: "play", options };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: known }).values;
  } catch (error) {
    throw new UsageError(`${(error as Error).message.split(/\.(?: |\n)/)[0]}; --help tells what there is`);
  }
}

function number(name: string, text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback;
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value <= 0) {
    throw new UsageError(`--${name} needs a number above 0, got "${text}"`);
  }
  return value;
}

function whole(name: string, text: string | undefined, fallback: number): number {
  const value = number(name, text?.replaceAll(/[_,]/g, ""), fallback);
  if (text !== undefined && !Number.isSafeInteger(value)) {
    throw new UsageError(`--${name} needs a whole number, got "${text}"`);
  }
  return value;
}

/** A day has room for a million seeds before those of the next begin. */
function seedOf(text: string, today: Date): number {
  if (text === "day") return Number(today.toISOString().slice(0, 10).replaceAll("-", "")) * 1_000_000;
  const seed = Number(text.replaceAll(/[_,]/g, ""));
  if (!/^\d[\d_,]*$/.test(text) || !Number.isSafeInteger(seed)) {
    throw new UsageError(`--seed needs "day" or a whole number from 0 to 2^53 - 1, got "${text}"`);
  }
  return seed;
}

function kindsOf(text: string, kinds: readonly string[]): readonly string[] {
  const asked = text.split(",").map((kind) => kind.trim());
  const unknown = asked.filter((kind) => !kinds.includes(kind));
  if (unknown.length > 0) {
    throw new UsageError(`--only knows no kind "${unknown.join('", "')}"; there are ${kinds.join(", ")}`);
  }
  return asked;
}
