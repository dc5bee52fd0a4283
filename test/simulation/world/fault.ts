import type { Checker } from "../checker/checker.js";
import type { DataLosses } from "../checker/data-losses.js";
import type { History } from "../checker/history.js";
import type { Trouble } from "../checker/trouble.js";
import type { Stream } from "../chooser/chooser.js";
import { oneIn, pick } from "../draw.js";
import type { CutTerms } from "./command-link.js";
import type { Line, Node } from "./fleet.js";
import type { SimServer } from "./sim-server.js";
import type { Topology, TopologyName } from "./topology.js";
import type { VirtualTime } from "./virtual-time.js";

export const MS = 1_000;

/** Whatever the faults reach. */
export interface Reach {
  readonly time: VirtualTime;
  readonly history: History;
  readonly trouble: Trouble;
  readonly checker: Checker;
  readonly losses: DataLosses;
  readonly topology: Topology;
  readonly nodes: () => readonly Node[];
  /** Starts a process anew under another name, with a workload of its own. */
  restart(node: Node): void;
}

/** Where a fault strikes: at a moment in the life of a command. */
export interface Hit {
  readonly node: Node;
  /** The connections of that command, and the server at their other end. */
  readonly line: Line;
  readonly server: SimServer;
  readonly stream: Stream;
  readonly reach: Reach;
}

/** A sort of fault. */
export interface Fault {
  /** Who feels it: one process, or everybody; it also says what counts as hit. */
  readonly befalls: "process" | "commands" | "messages" | "server";
  /** The topologies that have it. Default: all. */
  readonly only?: readonly TopologyName[];
  /** Whether what is counted at a server would not be what was counted before: locks alone can be judged by it. */
  readonly isForLocks?: boolean;
  /** @returns how long until it is mended, in microseconds; undefined: there was nothing to strike */
  strike(hit: Hit): number | undefined;
}

/** How long something lasts, from a blink to far beyond all leases. */
const SPANS_MS: readonly [number, ...number[]] = [50, 5, 300, 1_200, 4_000, 20_000];

export function spanUs(stream: Stream): number {
  return pick(stream, SPANS_MS) * MS;
}

/** A connection breaks, and its client soon hears of it. */
export function cutTerms(
  stream: Stream,
  inTransit: { there: number; back: number },
): CutTerms & { lastsUs: number } {
  const noticeUs = pick(stream, [0, 500, 20_000]);
  const reconnectUs = pick(stream, [1_000, 50_000, 300_000, 2_000_000]);
  const there = stream.choose(inTransit.there + 1);
  const back = oneIn(stream, 4) ? stream.choose(inTransit.back + 1) : 0;
  return { there, back, lateUs: undefined, noticeUs, reconnectUs, lastsUs: noticeUs + reconnectUs };
}

/** All connections that lead to a server. */
export function linesTo(server: SimServer, nodes: readonly Node[]): readonly Line[] {
  return nodes.flatMap(({ lines }) => lines.filter((line) => line.server() === server));
}

/** The server is gone for a moment: all its connections break. @returns until all have others */
export function cutAll(server: SimServer, { stream, reach }: Hit): number {
  let lastsUs = 0;
  for (const { commands, messages } of linesTo(server, reach.nodes())) {
    const terms = cutTerms(stream, commands.inTransit);
    commands.cut(terms);
    messages.cut(cutTerms(stream, messages.inTransit), 0);
    lastsUs = Math.max(lastsUs, terms.lastsUs, 3_000_000);
  }
  return lastsUs;
}
