import { type LocksSeen, watchLocks } from "holdfast/watch";
import { tellDuration } from "../../duration.js";
import { lacksRight } from "../../failure-of.js";
import { type Check, type Finding, ok, skip, warn } from "../check.js";

const doc = "docs/guide/presence.md#there-gone-and-unknown";
const MOST_NAMED = 5;

/** Whether the programs report themselves, and what the reports say. */
export const fleet: Check = {
  id: "fleet",
  async look({ holdfast, settings: { group } }) {
    // The check needs only the first look, and from it only the clients.
    const looks = watchLocks(holdfast, { group, sources: ["presence"], limit: 1 });
    try {
      for await (const seen of looks) return judge(seen);
      return [];
    } catch (error) {
      if (!lacksRight(error)) throw error;
      return [skip(`no right to read presence: it needs ~holdfast_client*:{${group}}*`)];
    }
  },
};

export function judge({
  fleet: { clients, group },
  presenceIsUnwell,
}: Pick<LocksSeen, "fleet" | "presenceIsUnwell">): readonly Finding[] {
  if (clients.length === 0) return [ok(`no client of the group "${group}" has presence`)];
  const findings: Finding[] = [];
  const gone = clients.filter(({ state }) => state === "gone");
  const there = clients.length - gone.length;
  if (presenceIsUnwell)
    findings.push(
      warn(`${gone.length} of ${clients.length} clients fell silent at once`, {
        why: "Presence itself has probably failed, for example because a master was lost: their locks may still be held and renewed.",
        wanted:
          "Do not free locks only because their holders are gone. Check the server of the group's keys.",
        doc,
      }),
    );
  else if (gone.length > 0)
    findings.push(
      warn(
        `${gone.length} of ${clients.length} clients are gone: ${named(gone.map(({ app, host, pid, lastSeenMs, holds }) => `${app || "a client"}${host === null ? "" : `@${host}`}${pid === null ? "" : ` pid ${pid}`} ${tellDuration(lastSeenMs)} ago${holds.length === 0 ? "" : ` with ${holds.length === 1 ? "1 hold" : `${holds.length} holds`}`}`))}`,
        {
          why: "They ended without closing their client, or are stopped. Their locks end by their TTLs.",
          wanted: "holdfast clients lists all of them. Programs should close their client when they end.",
          doc,
        },
      ),
    );
  const libs = new Map<string, number>();
  for (const { lib, state } of clients)
    if (state === "there" && lib !== "") libs.set(lib, (libs.get(lib) ?? 0) + 1);
  if (libs.size > 1)
    findings.push(
      warn(
        `${libs.size} versions at once: ${named([...libs].map(([lib, count]) => `${count} with ${lib}`))}`,
        {
          why: "Neighbouring versions work together, so a fleet can be updated step by step. An older version may not work with the others.",
          wanted: "Finish the update, or find out which program was left out: holdfast clients.",
          doc,
        },
      ),
    );
  if (findings.length > 0) return findings;
  return [
    ok(
      `${there === 1 ? "1 client" : `${there} clients`} in the group "${group}", all with ${[...libs.keys()][0] ?? "an unknown version"}`,
    ),
  ];
}

function named(all: readonly string[]): string {
  const more = all.length - MOST_NAMED;
  return all.slice(0, MOST_NAMED).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
