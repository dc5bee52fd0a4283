import { type Check, type Finding, fail, ok, warn } from "../check.js";
import { ask, ofEach, type Scene, setting } from "../scene.js";

const doc = "docs/guide/topologies.md#cluster";
const SLOTS = 16_384;

/** Whether all keys have a master, and how soon a lost master is replaced. */
export const cluster: Check = {
  id: "cluster",
  moot: ({ isCluster }) => (isCluster ? undefined : "no redis+cluster:// URL"),
  async look(scene) {
    const states = await ofEach(scene, async (server) => {
      const info = readLines(await ask(server, "CLUSTER", "INFO"));
      const timeoutMs = await nodeTimeout(() => setting(server, "cluster-node-timeout"));
      return [...judgeState(info), ...judgeTimeout(timeoutMs, scene.watchdogMs)];
    });
    const named = scene.name === undefined ? [] : [await placeOf(scene, scene.settings.prefix + scene.name)];
    const faults = [...states, ...named].filter(({ level }) => level !== "ok");
    return faults.length > 0 ? faults : [...states.slice(0, 1), ...named];
  },
};

/** Whether the URL names a node of a cluster as if it were a single server. */
export const aloneInCluster: Check = {
  id: "topology",
  moot: ({ isCluster }) => (isCluster ? "a redis+cluster:// URL" : undefined),
  async look(scene) {
    const facts = await scene.facts(scene.anyServer);
    if (facts.get("cluster_enabled") !== "1") return [ok(topologies[scene.target.kind])];
    return [
      fail("this server is a node of a cluster", {
        why: "A node has only some of the locks, and refuses commands for the others (MOVED).",
        wanted: "Name the cluster as --url redis+cluster://host:port, and use a cluster client in programs.",
        doc,
      }),
    ];
  },
};

const topologies: Readonly<Record<Scene["target"]["kind"], string>> = {
  server: "a single server",
  socket: "a single server, by its socket",
  sentinel: "a master that Sentinels watch",
  cluster: "a cluster",
};

/** Returns undefined if the user may not read settings, so that the rest of this check still runs. */
async function nodeTimeout(read: () => Promise<string | undefined>): Promise<number | undefined> {
  try {
    return Number((await read()) ?? Number.NaN) || undefined;
  } catch {
    return undefined;
  }
}

export function judgeState(info: ReadonlyMap<string, string>): readonly Finding[] {
  const state = info.get("cluster_state") ?? "not told";
  const assigned = Number(info.get("cluster_slots_assigned") ?? 0);
  const failing = Number(info.get("cluster_slots_fail") ?? 0) + Number(info.get("cluster_slots_pfail") ?? 0);
  const found = `cluster_state is ${state}, ${assigned} of ${SLOTS} slots are assigned${failing === 0 ? "" : `, ${failing} of them failing`}`;
  if (state === "ok" && assigned === SLOTS && failing === 0) return [ok("all slots are served")];
  return [
    fail(found, {
      why: "A lock whose slot has no master can not be taken, renewed or released. If the whole cluster refuses commands, this is true of all locks.",
      wanted: "Bring the missing masters back, or give their slots to others (redis-cli --cluster fix).",
      doc,
    }),
  ];
}

export function judgeTimeout(timeoutMs: number | undefined, watchdogMs: number): readonly Finding[] {
  if (timeoutMs === undefined || timeoutMs <= watchdogMs / 3) return [];
  return [
    warn(`cluster-node-timeout is ${timeoutMs} ms, over a third of the watchdog's ${watchdogMs} ms`, {
      why: "The cluster replaces a lost master only after that time: the master's locks may expire before they can be renewed.",
      wanted: `Set cluster-node-timeout to ${Math.floor(watchdogMs / 3)} or less, or watchdogMs to more.`,
      doc,
    }),
  ];
}

async function placeOf({ redis, anyServer }: Scene, key: string): Promise<Finding> {
  if (!/^[^{}]*(?:\{[^{}]+\}[^{}]*)?$/.test(key))
    return fail(`the braces of "${key}" can not be used in a cluster`, {
      why: "The keys and channels of a lock must share a slot, so braces may enclose only one part of its name.",
      wanted: "Name it as in {order}:7.",
      doc,
    });
  const slot = Number(await ask(anyServer, "CLUSTER", "KEYSLOT", key));
  const master = "slots" in redis ? redis.slots[slot]?.[0] : undefined;
  if (master !== undefined) return ok(`"${key}" has slot ${slot}, at ${master}`);
  return fail(`"${key}" has slot ${slot}, which no master serves`, {
    why: "The lock can not be taken.",
    wanted: "Bring its master back, or give the slot to another.",
    doc,
  });
}

function readLines(reply: unknown): ReadonlyMap<string, string> {
  const lines = String(reply).split("\r\n");
  return new Map(lines.map((line) => [line.replace(/:.*/, ""), line.replace(/^[^:]*:/, "")]));
}
