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
  "slot moves to one that dies": {
    befalls: "server",
    only: ["cluster"],
    strike(hit) {
      const { topology } = hit.reach;
      return topology instanceof ClusterTopology ? topology.moveAndDie(hit) : undefined;
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
