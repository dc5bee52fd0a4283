import { holdfast } from "./command-line.js";
import { misfits } from "./schemas.js";

export interface Entry {
  readonly id: string;
  readonly level: "ok" | "warn" | "fail" | "skip";
  readonly found: string;
  readonly why: string | null;
  readonly wanted: string | null;
  readonly doc: string | null;
}

export interface Diagnosis {
  readonly code: number;
  readonly entries: readonly Entry[];
  /** `eviction fail` for each finding that is not well; without what a busy machine may bring about. */
  readonly faults: readonly string[];
  /** What a check has found. */
  of(id: string): string;
}

/** They measure times, and another one uses the machine as well. */
const OF_THE_MACHINE = new Set(["reach", "slow"]);

/** What `doctor` finds. */
export async function diagnose(
  url: string,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<Diagnosis> {
  const { code, out, err } = await holdfast(["doctor", "--json", "--url", url, ...args], { env });
  if (out === "") throw new Error(`doctor ended with ${code}: ${err}`);
  const wrong = misfits("doctor", [out]);
  if (wrong.length > 0) throw new Error(wrong.join("\n"));
  const { checks } = JSON.parse(out) as { readonly checks: readonly Entry[] };
  return {
    code,
    entries: checks,
    faults: checks
      .filter(({ id, level }) => (level === "fail" || level === "warn") && !OF_THE_MACHINE.has(id))
      .map(({ id, level }) => `${id} ${level}`),
    of: (id) =>
      checks
        .filter((entry) => entry.id === id)
        .map(({ level, found }) => `${level}: ${found}`)
        .join("\n"),
  };
}
