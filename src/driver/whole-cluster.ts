const SLOTS = 16_384;

/** What a node says of a node, itself among them. */
interface NodeView {
  readonly id: string;
  readonly address: string;
  readonly flags: readonly string[];
  /** How many slots it has. */
  readonly slots: number;
}

/**
 * Throws unless the masters that have answered have all slots, in the eyes of each of them. A client may have dropped a failed master
 * from its list, or have a replica there in whose place another node is the master by now.
 * @param views what each of them answered to `CLUSTER NODES`
 */
export function assertWhole(views: readonly string[]): void {
  const clusters = views.map(nodesIn);
  const answered = new Set(clusters.flatMap((nodes) => nodes.filter(has("myself")).map(({ id }) => id)));
  for (const nodes of clusters) {
    // Replicas of Valkey tell the slots of their master as well.
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

/** Of "0-5460" or "5461"; a slot on its way is named once more, in brackets. */
function sizeOf(range: string): number {
  if (range.startsWith("[")) return 0;
  const [first = "", last = first] = range.split("-");
  return Number(last) - Number(first) + 1;
}

function has(flag: string): (node: NodeView) => boolean {
  return ({ flags }) => flags.includes(flag);
}
