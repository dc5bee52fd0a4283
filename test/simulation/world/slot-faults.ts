import { ClusterTopology } from "./cluster.js";
import type { Fault, Hit } from "./fault.js";

/** @param strike what is done to the cluster, and how long it lasts; undefined: it can not be done at present */
function inCluster(strike: (cluster: ClusterTopology, hit: Hit) => number | undefined): Fault {
  return {
    befalls: "server",
    only: ["cluster"],
    strike(hit) {
      const { topology } = hit.reach;
      return topology instanceof ClusterTopology ? strike(topology, hit) : undefined;
    },
  };
}

/** What befalls a cluster. */
export const slotFaults: Readonly<Record<string, Fault>> = {
  "slot moves": inCluster((cluster, hit) => cluster.moveSlot(hit)),
  "slot moves ahead of a replica": inCluster((cluster, hit) => cluster.moveAhead(hit)),
  "slot moves on": inCluster((cluster, hit) => cluster.moveOn(hit)),
  "slot moves to one that dies": inCluster((cluster, hit) => cluster.moveAndDie(hit)),
  "node dies": inCluster((cluster, hit) => cluster.failover(hit)),
};
