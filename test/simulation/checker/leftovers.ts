import type { Node } from "../world/fleet.js";
import type { VirtualTime } from "../world/virtual-time.js";
import type { Checker } from "./checker.js";
import type { TableCheck } from "./tables.js";
import type { Trouble } from "./trouble.js";

const MS = 1_000;

/** What is over when all tasks are done. */
export interface Ending {
  readonly time: VirtualTime;
  readonly checker: Checker;
  readonly trouble: Trouble;
  readonly tables: TableCheck;
  readonly nodes: readonly Node[];
  /** No lease is longer. */
  readonly longestMs: number;
}

/** Lets all leases end, closes all clients, and looks for what is left of them. */
export async function lookForLeftovers(ending: Ending): Promise<void> {
  const { time, checker, trouble, tables, nodes, longestMs } = ending;
  await time.pass(Math.max(time.nowUs, trouble.endsUs) + 2 * longestMs * MS);
  const live = nodes.filter(({ process }) => !process.isDead);
  const clients = live.flatMap((node) => node.clients);
  for (const node of live) tables.look(node, "at rest");
  let closed = 0;
  for (const holdfast of clients) {
    void holdfast.close().then(() => {
      closed += 1;
    });
  }
  await time.pass(time.nowUs + longestMs * MS);
  if (closed < clients.length)
    checker.fail("progress", `${clients.length - closed} clients can not be closed`);
  for (const { process } of live) {
    if (process.pendingTimers === 0) continue;
    checker.fail(
      "leftovers",
      `${process.pendingTimers} timers of ${process.name} are left after its client was closed`,
    );
  }
  for (const node of live) tables.look(node, "after close");
  tables.lookAtModules(nodes.length - live.length);
}
