import { type Check, type Finding, fail, ok, warn } from "../check.js";
import { type InfoFacts, ofEach } from "../scene.js";

const doc = "docs/guide/servers.md#settings-of-the-server";
const FULL = 0.9;

/** Whether locks may be evicted. */
export const eviction: Check = {
  id: "eviction",
  look: (scene) => ofEach(scene, async (server) => judgeEviction(await scene.facts(server))),
};

/** Whether the server has memory for more locks. */
export const memory: Check = {
  id: "memory",
  look: (scene) => ofEach(scene, async (server) => [judgeMemory(await scene.facts(server))]),
};

export function judgeEviction(facts: InfoFacts): readonly Finding[] {
  const policy = facts.get("maxmemory_policy") ?? "not told";
  const limit = numberOf(facts, "maxmemory");
  const evicted = numberOf(facts, "evicted_keys");
  const since = evicted > 0 ? `; ${evicted.toLocaleString("en")} keys were evicted since it was started` : "";
  const found = `maxmemory-policy is ${policy} with ${limit === 0 ? "no maxmemory" : `maxmemory ${bytes(limit)}`}${since}`;
  if (policy === "noeviction" || policy === "not told") {
    if (evicted === 0) return [ok(found)];
    return [
      warn(found, {
        why: "Another policy was set earlier: a lock may have been evicted while it was held.",
        wanted: "Keep noeviction, also across restarts.",
        doc,
      }),
    ];
  }
  const wanted = "Set maxmemory-policy noeviction, or use a separate server for locks.";
  if (limit === 0)
    return [
      warn(found, {
        why: "As soon as maxmemory is set, locks may be evicted while they are held.",
        wanted,
        doc,
      }),
    ];
  const aim = policy.startsWith("volatile-")
    ? " This policy picks keys with a TTL, and locks are such keys."
    : "";
  return [
    fail(found, {
      why: `A lock may be evicted while it is held, and then have two holders.${aim}`,
      wanted,
      doc,
    }),
  ];
}

export function judgeMemory(facts: InfoFacts): Finding {
  const used = numberOf(facts, "used_memory");
  const limit = numberOf(facts, "maxmemory");
  if (limit === 0) return ok(`${bytes(used)} in use, no limit`);
  const found = `${bytes(used)} of ${bytes(limit)} in use (${Math.round((100 * used) / limit)} %)`;
  if (used <= FULL * limit) return ok(found);
  return warn(found, {
    why: "A full server refuses new locks with OOM. It still renews and releases the locks that are held.",
    wanted: "Free some memory, or use a separate server for locks.",
    doc,
  });
}

export function numberOf(facts: InfoFacts, name: string): number {
  const value = Number(facts.get(name) ?? 0);
  return Number.isFinite(value) ? value : 0;
}

export function bytes(count: number): string {
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  const power = Math.min(Math.floor(Math.log2(Math.max(count, 1)) / 10), units.length - 1);
  const value = count / 1024 ** power;
  return `${value >= 10 || Number.isInteger(value) ? Math.round(value) : value.toFixed(1)} ${units[power]}`;
}
