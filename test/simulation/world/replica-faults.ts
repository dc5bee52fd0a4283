import { pick } from "../draw.js";
import { ClusterTopology } from "./cluster.js";
import { type Fault, type Hit, MS, spanUs } from "./fault.js";
import type { ReplicaLink } from "./replica-link.js";
import { SentinelTopology } from "./sentinels.js";

/** One of the replicas of the server that was hit. */
function oneReplica({ server, stream }: Hit): ReplicaLink | undefined {
  const replicas = [...server.replicas];
  return replicas[stream.choose(Math.max(1, replicas.length))];
}

function failover(hit: Hit, hasCrashed: boolean): number | undefined {
  const { topology } = hit.reach;
  return topology instanceof SentinelTopology ? topology.failover(hit, hasCrashed) : undefined;
}

/** What befalls masters and their replicas. */
export const replicaFaults = {
  "replica lags": {
    befalls: "server",
    only: ["sentinel", "cluster"],
    strike(hit) {
      const link = oneReplica(hit);
      if (link === undefined) return undefined;
      const us = spanUs(hit.stream);
      const moreUs = pick(hit.stream, [50, 300, 3_000]) * MS;
      link.pace.lagUs += moreUs;
      hit.reach.time.after(us, () => {
        link.pace.lagUs -= moreUs;
      });
      // What is written last arrives so much later, and several of them add up.
      return us + Math.max(link.pace.lagUs, 3_000 * MS);
    },
  },
  "replica stops": {
    befalls: "server",
    only: ["sentinel", "cluster"],
    strike(hit) {
      const link = oneReplica(hit);
      const us = spanUs(hit.stream);
      link?.stop(us);
      return link && us;
    },
  },
  "replica cut off": {
    befalls: "server",
    only: ["sentinel", "cluster"],
    strike(hit) {
      const link = oneReplica(hit);
      const us = spanUs(hit.stream);
      const { topology, time } = hit.reach;
      if (link === undefined) return undefined;
      const { master, replica } = link;
      link.end();
      time.after(us, () => {
        if (topology instanceof SentinelTopology) topology.rejoin(replica);
        if (topology instanceof ClusterTopology) topology.rejoin(master, replica);
      });
      return us;
    },
  },
  failover: { befalls: "server", only: ["sentinel"], strike: (hit) => failover(hit, false) },
  "failover after a crash": { befalls: "server", only: ["sentinel"], strike: (hit) => failover(hit, true) },
} satisfies Record<string, Fault>;
