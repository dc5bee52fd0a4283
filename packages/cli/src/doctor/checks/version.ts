import { type Check, type Finding, fail, ok, warn } from "../check.js";
import { ofEach } from "../scene.js";

const doc = "docs/guide/servers.md";
const managed = "docs/guide/servers.md#managed-services";

/** Checks which program answers, and whether holdfast supports it. */
export const version: Check = {
  id: "version",
  look: (scene) => ofEach(scene, async (server) => [judge(await scene.facts(server))]),
};

const modes: Readonly<Record<string, string>> = { standalone: "one server", cluster: "a node of a cluster" };

export function judge(facts: ReadonlyMap<string, string>): Finding {
  const mode = facts.get("redis_mode") ?? facts.get("server_mode") ?? "";
  if (mode === "sentinel")
    return fail("this is a Sentinel, which has no locks", {
      why: "A Sentinel only knows the address of the master.",
      wanted: "Name the Sentinels as --url redis+sentinel://host:26379,host/master.",
      doc: "docs/guide/topologies.md#sentinel",
    });
  const { name, version: found, oldest } = programOf(facts);
  const text = `${name} ${found}, ${modes[mode] ?? (mode || "of an unknown kind")}`;
  if (oldest === undefined)
    return warn(text, {
      why: "holdfast is not tested on this server: it may answer differently from Redis and Valkey.",
      wanted: "Read what is known about your service, and look at the checks below.",
      doc: managed,
    });
  if (isBefore(found, oldest))
    return fail(text, {
      why: "Older servers lack commands that the scripts use.",
      wanted: `Use ${name} ${oldest} or later.`,
      doc,
    });
  return ok(text);
}

interface Program {
  readonly name: string;
  readonly version: string;
  /** The first version that holdfast supports; undefined for an untested program. */
  readonly oldest?: string;
}

/** Valkey and others also tell the version of Redis that they are compatible with. */
function programOf(facts: ReadonlyMap<string, string>): Program {
  const redis = facts.get("redis_version") ?? "of an unknown version";
  const valkey = facts.get("valkey_version");
  if (valkey !== undefined) return { name: "Valkey", version: valkey, oldest: "7.2" };
  const dragonfly = facts.get("dragonfly_version");
  if (dragonfly !== undefined) return { name: "Dragonfly", version: dragonfly };
  const server = facts.get("server_name");
  if (server !== undefined && server !== "redis") return { name: server, version: redis };
  return { name: "Redis", version: redis, oldest: "6.2" };
}

function isBefore(found: string, oldest: string): boolean {
  const [major = 0, minor = 0] = found.split(".").map(Number);
  const [leastMajor = 0, leastMinor = 0] = oldest.split(".").map(Number);
  return major < leastMajor || (major === leastMajor && minor < leastMinor);
}
