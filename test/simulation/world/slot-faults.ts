import { ClusterTopology } from "./cluster.js";
import type { Fault } from "./fault.js";

/** What befalls a cluster. */
export const slotFaults = {
  "slot moves": {
    befalls: "server",
    only: ["cluster"],
    strike(hit) {
      const { topology } = hit.reach;
      return topology instanceof ClusterTopology ? topology.moveSlot(hit) : undefined;
    },
  },
  "node dies": {
    befalls: "server",
    only: ["cluster"],
    strike(hit) {
      const { topology } = hit.reach;
      return topology instanceof ClusterTopology ? topology.failover(hit) : undefined;
    },
  },
} satisfies Record<string, Fault>;
