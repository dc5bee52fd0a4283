const SLOTS = 16_384;

/** What one line of `CLUSTER NODES` says about a node. */
interface NodeView {
  readonly id: string;
  readonly address: string;
  readonly flags: readonly string[];
  /** How many slots the node has. */
  readonly slots: number;
}

/**
 * Throws unless the masters that have answered have all slots, according to the table of each of these masters. The client's list may lack
 * a failed master, or may name a former master that is a replica by now.
 * @param views the answer of each master to `CLUSTER NODES`
 */
export function assertWhole(views: readonly string[]): void {
  const clusters = views.map(nodesIn);
  const answered = new Set(clusters.flatMap((nodes) => nodes.filter(has("myself")).map(({ id }) => id)));
  for (const nodes of clusters) {
    // Replicas of Valkey report the slots of their master as well.
    const masters = nodes.filter(has("master"));
    const missing = masters.find(({ id, slots }) => slots > 0 && !answered.has(id));
    if (missing !== undefined) {
      const { address, slots } = missing;
      throw new Error(
        `${address} has ${slots} slots of the cluster, but the Redis client does not use it as a master`,
      );
    }
    const slots = masters.reduce((sum, master) => sum + master.slots, 0);
    if (slots < SLOTS) throw new Error(`${SLOTS - slots} slots of the cluster have no master`);
  }
}

/** Lines of "<id> <host:port@bus port,name> <flags> <master> <ping> <pong> <epoch> <link> <slots> …". */
function nodesIn(view: string): readonly NodeView[] {
  return view
    .trim()
    .split("\n")
    .map((line) => {
      const [id = "", address = "", flags = "", , , , , , ...ranges] = line.split(" ");
      return {
        id,
        address: address.replace(/@.*/, ""),
        flags: flags.split(","),
        slots: ranges.reduce((sum, range) => sum + sizeOf(range), 0),
      };
    });
}

/** The number of slots in "0-5460" or "5461". A moving slot is named a second time, in brackets. */
function sizeOf(range: string): number {
  if (range.startsWith("[")) return 0;
  const [first = "", last = first] = range.split("-");
  return Number(last) - Number(first) + 1;
}

function has(flag: string): (node: NodeView) => boolean {
  return ({ flags }) => flags.includes(flag);
}
