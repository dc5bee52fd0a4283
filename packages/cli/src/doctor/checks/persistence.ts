import { type Check, type Finding, ok, warn } from "../check.js";
import { ofEach, setting } from "../scene.js";

const doc = "docs/guide/servers.md#settings-of-the-server";

/** Which locks, tokens and semaphores a restart of the server loses. */
export const persistence: Check = {
  id: "persistence",
  look: (scene) =>
    ofEach(scene, async (server) => {
      const facts = await scene.facts(server);
      const hasLog = facts.get("aof_enabled") === "1";
      // Only the settings show whether there are snapshots.
      return judge(facts, hasLog ? "" : await setting(server, "save"));
    }),
};

export function judge(facts: ReadonlyMap<string, string>, save: string | undefined): readonly Finding[] {
  const findings: Finding[] = [];
  const hasLog = facts.get("aof_enabled") === "1";
  const failed = [
    ...(hasLog && facts.get("aof_last_write_status") === "err"
      ? ["the last write to the append-only file"]
      : []),
    ...(facts.get("rdb_last_bgsave_status") === "err" ? ["the last snapshot"] : []),
  ];
  if (failed.length > 0)
    findings.push(
      warn(`${failed.join(" and ")} failed`, {
        why: "A server that can not save may refuse to write (MISCONF), and then gives no locks.",
        wanted: "Check its disk and its log.",
        doc,
      }),
    );
  if (!hasLog && !save)
    findings.push(
      warn("none", {
        why: "A restart forgets fencing tokens, semaphores and locks.",
        wanted: "Set appendonly yes if you use tokens or semaphores.",
        doc,
      }),
    );
  if (findings.length > 0) return findings;
  return [ok(hasLog ? "an append-only file" : "snapshots: a restart forgets everything after the last one")];
}
