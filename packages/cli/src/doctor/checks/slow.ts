import { tellDuration } from "../../duration.js";
import { type Check, type Finding, ok, warn } from "../check.js";
import { ask, ofEach } from "../scene.js";

const doc = "docs/guide/servers.md#settings-of-the-server";
const ENTRIES = "128";
const SLOW_SCRIPT_MS = 10;
/** A command that takes longer is reported, because it delays all locks. */
const SLOW_COMMAND_MS = 100;
/** Older entries do not count. */
const RECENT_MS = 24 * 3_600_000;

/** A command in the slow log of the server. */
export interface SlowCommand {
  readonly agoMs: number;
  readonly tookMs: number;
  readonly words: readonly string[];
}

/** Which commands delay the server's answers. */
export const slow: Check = {
  id: "slow",
  look: (scene) =>
    ofEach(scene, async (server) => {
      const facts = await scene.facts(server);
      const time = await ask(server, "TIME");
      const log = await ask(server, "SLOWLOG", "GET", ENTRIES);
      return judge(readLog(log, Number((time as readonly unknown[])[0]) * 1_000), facts);
    }),
};

export function judge(log: readonly SlowCommand[], facts: ReadonlyMap<string, string>): readonly Finding[] {
  const recent = log.filter(({ agoMs }) => agoMs <= RECENT_MS);
  const scripts = recent.filter((each) => isScript(each) && each.tookMs > SLOW_SCRIPT_MS);
  const others = recent.filter((each) => !isScript(each) && each.tookMs > SLOW_COMMAND_MS);
  const findings: Finding[] = [];
  if (scripts.length > 0)
    findings.push(
      warn(
        `${count(scripts, "script")} took over ${SLOW_SCRIPT_MS} ms in the last day, ${slowest(scripts)}`,
        {
          why: "While a script runs, the server answers nothing else: the locks of all programs wait.",
          wanted:
            "Check whether the server is short of processor time. Locks with thousands of holders or waiters take longer.",
          doc,
        },
      ),
    );
  if (others.length > 0)
    findings.push(
      warn(
        `${count(others, "command")} took over ${SLOW_COMMAND_MS} ms in the last day, ${slowest(others)}`,
        {
          why: "While it runs, the server answers nothing else: the locks of all programs wait.",
          wanted: "Replace such commands (KEYS with SCAN), or use a separate server for locks.",
          doc,
        },
      ),
    );
  if (findings.length > 0) return findings;
  const average = /usec_per_call=([\d.]+)/.exec(facts.get("cmdstat_evalsha") ?? "")?.[1];
  return [
    ok(
      average === undefined
        ? "nothing"
        : `nothing; a script takes ${Math.round(Number(average))} µs on average`,
    ),
  ];
}

function isScript({ words: [command = ""] }: SlowCommand): boolean {
  return /^(?:eval|fcall)/i.test(command);
}

function count(found: readonly SlowCommand[], what: string): string {
  return `${found.length} ${what}${found.length === 1 ? "" : "s"}`;
}

function slowest(found: readonly SlowCommand[]): string {
  const [worst] = [...found].sort((a, b) => b.tookMs - a.tookMs);
  if (worst === undefined) return "";
  const { words, tookMs, agoMs } = worst;
  // The arguments of a script call begin with the script; the first key of the call says more.
  const named = isScript(worst)
    ? `${words[0]?.toUpperCase()} on ${words[3] ?? "no key"}`
    : words.slice(0, 2).join(" ");
  return `the slowest ${tellDuration(tookMs)}: ${named.slice(0, 80)}, ${tellDuration(agoMs)} ago`;
}

/** @param nowMs the time on the server's clock, like the times in the log */
function readLog(reply: unknown, nowMs: number): readonly SlowCommand[] {
  if (!Array.isArray(reply)) return [];
  return reply.flatMap((entry: unknown) => {
    if (!Array.isArray(entry)) return [];
    const [, atS, tookUs, words] = entry as readonly unknown[];
    if (!Array.isArray(words)) return [];
    return [{ agoMs: nowMs - Number(atS) * 1_000, tookMs: Number(tookUs) / 1_000, words: words.map(String) }];
  });
}
