import type { Shared } from "../workload/family.js";
import type { Node } from "../world/fleet.js";
import type { OwnEnvironment } from "../world/own-environment.js";
import type { SimServer } from "../world/sim-server.js";
import type { VirtualTime } from "../world/virtual-time.js";
import type { Checker } from "./checker.js";
import { keysLeft, keysOfClosed, keysWithoutEnd, wrongKeys } from "./keys.js";
import type { TableCheck } from "./tables.js";
import type { ToldCounts } from "./told-counts.js";
import type { Trouble } from "./trouble.js";

const MS = 1_000;
/** Every key that has a TTL is gone by then. */
const LONGEST_TTL_US = 3 * 86_400_000 * MS;

/** What is over when all tasks are done. */
export interface Ending {
  readonly time: VirtualTime;
  readonly checker: Checker;
  readonly trouble: Trouble;
  readonly tables: TableCheck;
  /** Undefined where no client has presence. */
  readonly told?: ToldCounts;
  readonly environment: OwnEnvironment;
  readonly nodes: readonly Node[];
  readonly servers: readonly SimServer[];
  readonly shared: readonly Shared[];
  /** No lease is longer. */
  readonly longestMs: number;
  /** Whether a JVM is in the fleet. */
  readonly hasJvm: boolean;
}

/** Lets all leases end, closes all clients, and looks for what is left of them. */
export async function lookForLeftovers(ending: Ending): Promise<void> {
  const { time, checker, trouble, tables, nodes, servers, shared, longestMs, hasJvm } = ending;
  const complain = (server: SimServer, texts: readonly string[], when: string) => {
    for (const text of texts) checker.fail("leftovers", `${server.name} has ${text} ${when}`);
  };
  for (const { process } of nodes) process.calm();
  await time.pass(Math.max(time.nowUs, trouble.endsUs) + 2 * longestMs * MS);
  const live = nodes.filter(({ process }) => !process.isDead);
  // No task has a lease or permits any more.
  ending.environment.forgetAll();
  // A client that finds a lock lost leaves its queue.
  await time.pass(time.nowUs + longestMs * MS);
  for (const node of live) {
    tables.look(node, "at rest");
    const { process } = node;
    lookAtTimers(node, checker, "at rest");
    if (!process.gate.isShut) continue;
    checker.fail("world", `${process.name} does not go on although all faults are over`);
  }
  ending.told?.compare();
  for (const server of servers) {
    complain(server, wrongKeys(server.keys, shared, ending, server.setBackMs), "at rest");
    complain(server, keysLeft(server.keys, shared), "after all leases have ended");
    complain(server, earsOf(server), "at rest");
  }
  await close(live, ending);
  const closed = live.flatMap(({ clients }) => clients.map(({ clientId }) => clientId));
  // A client leaves its group in one command timeout or not at all, and a copy of its last beat may come after that.
  for (const server of trouble.hasBegun ? [] : servers) {
    complain(server, keysOfClosed(server.keys, closed), "after all clients were closed");
  }
  for (const node of live) {
    lookAtTimers(node, checker, "after its client was closed");
    tables.look(node, "after close");
  }
  const clientsOf = (of: readonly Node[]) => of.flatMap(({ clients }) => clients).length;
  tables.lookAtModules(clientsOf(nodes) - clientsOf(live));
  for (const call of checker.calls.pending) {
    if (!call.isDead()) checker.fail("leftovers", `${call.what} is under way although its client was closed`);
  }
  for (const server of servers) complain(server, earsOf(server), "after all clients were closed");
  await time.pass(time.nowUs + LONGEST_TTL_US);
  for (const server of servers) {
    complain(server, keysWithoutEnd(server.keys, shared, hasJvm), "after the longest TTL has run out");
  }
}

async function close(live: readonly Node[], { time, checker, longestMs }: Ending): Promise<void> {
  const clients = live.flatMap((node) => node.clients);
  let closed = 0;
  for (const holdfast of clients) {
    void holdfast.close().then(() => {
      closed += 1;
    });
  }
  await time.pass(time.nowUs + longestMs * MS);
  if (closed < clients.length)
    checker.fail("progress", `${clients.length - closed} clients can not be closed`);
}

/** Of the next beat, and of the answer to the last one, which most often has come long ago. */
const TIMERS_OF_PRESENCE = 2;

function lookAtTimers({ process, clients, hasPresence }: Node, checker: Checker, when: string): void {
  const { name, pendingTimers } = process;
  const mayHave = hasPresence && when === "at rest" ? TIMERS_OF_PRESENCE * clients.length : 0;
  if (pendingTimers > mayHave)
    checker.fail("leftovers", `${pendingTimers} timers of ${name} are left ${when}`);
}

function earsOf(server: SimServer): readonly string[] {
  return server.channels.map((channel) => `somebody who listens to ${channel}`);
}
