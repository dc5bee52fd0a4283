import { type Check, type Finding, fail, ok, warn } from "../check.js";
import { ask, type InfoFacts, NotAllowed, NotKnown, ofEach } from "../scene.js";
import { numberOf } from "./memory.js";

const settings = "docs/guide/servers.md#settings-of-the-server";
const acknowledged = "docs/guide/topologies.md#replicas-that-acknowledge";
const MOST_LAG_S = 1;

/** Whether the server takes writes. */
export const role: Check = {
  id: "role",
  look: (scene) => ofEach(scene, async (server) => [judgeRole(await scene.facts(server))]),
};

export function judgeRole(facts: InfoFacts): Finding {
  const found = facts.get("role") ?? "not told";
  if (found !== "slave" && found !== "replica") return ok(found);
  return fail(`a replica of ${facts.get("master_host")}:${facts.get("master_port")}`, {
    why: "A replica refuses writes, so it gives no locks. After a failover a client may still be connected to a replica.",
    wanted: "Connect to the master; with Sentinels use redis+sentinel://, which finds it.",
    doc: "docs/guide/topologies.md#sentinel",
  });
}

/** Whether locks survive the loss of the master. */
export const replicas: Check = {
  id: "replicas",
  look: (scene) =>
    ofEach(scene, async (server) => {
      const facts = await scene.facts(server);
      const findings = judgeReplicas(facts);
      const refused =
        numberOf(facts, "connected_slaves") > 0 ? await waitRefusal(() => ask(server, "WAIT", "0", "0")) : [];
      return [...findings, ...refused];
    }),
};

async function waitRefusal(wait: () => Promise<unknown>): Promise<readonly Finding[]> {
  try {
    await wait();
    return [];
  } catch (error) {
    if (
      !(error instanceof NotAllowed || error instanceof NotKnown) &&
      !/^ERR/.test(String((error as Error).message))
    )
      throw error;
    return [
      warn("WAIT is refused", {
        why: "Without WAIT nothing shows whether a replica has a lock, and a failover may forget it.",
        wanted: "Grant +wait; if the service has no WAIT, use fencing tokens.",
        doc: acknowledged,
      }),
    ];
  }
}

interface Replica {
  readonly address: string;
  readonly state: string;
  readonly lagS: number;
}

export function judgeReplicas(facts: InfoFacts): readonly Finding[] {
  const all = replicasIn(facts);
  if (all.length === 0) return [ok("none")];
  const count = all.length === 1 ? "1 replica" : `${all.length} replicas`;
  const findings: Finding[] = [];
  // Redis reports this field only if min-replicas-to-write and min-replicas-max-lag are both set.
  if (!facts.has("min_slaves_good_slaves"))
    findings.push(
      warn(`${count}, min-replicas-to-write is 0`, {
        why: "A master that is cut off keeps giving out locks after another master has replaced it.",
        wanted: "Set min-replicas-to-write 1 with min-replicas-max-lag.",
        doc: settings,
      }),
    );
  const behind = all.filter(({ state, lagS }) => state !== "online" || lagS > MOST_LAG_S);
  if (behind.length > 0)
    findings.push(
      warn(
        `behind: ${behind.map(({ address, state, lagS }) => (state === "online" ? `${address} by ${lagS} s` : `${address} (${state})`)).join(", ")}`,
        {
          why: "If this replica becomes the master, it does not have the locks that it has not yet received.",
          wanted: "Check the load and the network of these replicas.",
          doc: acknowledged,
        },
      ),
    );
  return findings.length > 0 ? findings : [ok(`${count}, none of them behind`)];
}

function replicasIn(facts: InfoFacts): readonly Replica[] {
  return [...facts].flatMap(([name, value]) => {
    if (!/^(?:slave|replica)\d+$/.test(name)) return [];
    const {
      ip = "",
      port = "",
      state = "",
      lag = "0",
    } = Object.fromEntries(
      value.split(",").map((part) => part.split("=", 2) as [string, string]),
    ) as Readonly<Partial<Record<string, string>>>;
    return [{ address: `${ip}:${port}`, state, lagS: Number(lag) }];
  });
}
