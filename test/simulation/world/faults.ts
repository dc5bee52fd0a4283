import type { Checker } from "../checker/checker.js";
import type { History } from "../checker/history.js";
import type { Trouble } from "../checker/trouble.js";
import type { Chooser, Stream } from "../chooser/chooser.js";
import { between, oneIn, pick } from "../draw.js";
import type { CommandLink, CutTerms, LinkWatch, Moment } from "./command-link.js";
import type { Node } from "./fleet.js";
import type { MessageLink } from "./message-link.js";
import type { SimServer } from "./sim-server.js";
import type { VirtualTime } from "./virtual-time.js";

const MS = 1_000;

/** Whatever the faults reach. */
export interface Reach {
  readonly time: VirtualTime;
  readonly history: History;
  readonly trouble: Trouble;
  readonly checker: Checker;
  readonly nodes: () => readonly Node[];
  readonly server: SimServer;
  /** Starts a process anew under another name, with a workload of its own. */
  restart(node: Node): void;
}

/** What is done to a fleet, and when: at a moment in the life of a command, so that it hits something under way. */
interface Planned {
  readonly sort: FaultSort;
  readonly process: string;
  readonly moment: Moment;
  readonly nth: number;
  readonly stream: Stream;
  isDone: boolean;
}

const MOMENTS: readonly [Moment, ...Moment[]] = ["sent", "arrived", "answered"];

/** How long something lasts, from a blink to far beyond all leases. */
const SPANS_MS: readonly [number, ...number[]] = [50, 5, 300, 1_200, 4_000, 20_000];

function spanUs(stream: Stream): number {
  return pick(stream, SPANS_MS) * MS;
}

/** A connection breaks, and its client soon hears of it. */
function cutTerms(
  stream: Stream,
  inTransit: { there: number; back: number },
): CutTerms & { lastsUs: number } {
  const noticeUs = pick(stream, [0, 500, 20_000]);
  const reconnectUs = pick(stream, [1_000, 50_000, 300_000, 2_000_000]);
  const there = stream.choose(inTransit.there + 1);
  const back = oneIn(stream, 4) ? stream.choose(inTransit.back + 1) : 0;
  return { there, back, lateUs: undefined, noticeUs, reconnectUs, lastsUs: noticeUs + reconnectUs };
}

const STRIKES = {
  cut({ commands }, stream) {
    const terms = cutTerms(stream, commands.inTransit);
    commands.cut(terms);
    return terms.lastsUs;
  },
  "late copy"({ commands }, stream) {
    const terms = cutTerms(stream, commands.inTransit);
    const lateUs = pick(stream, [50, 300, 2_000, 10_000]) * MS;
    commands.cut({ ...terms, there: 0, lateUs });
    return Math.max(terms.lastsUs, lateUs);
  },
  "half-open"({ commands }, stream) {
    const terms = cutTerms(stream, commands.inTransit);
    const noticeUs = pick(stream, [500, 3_000, 15_000]) * MS;
    commands.cut({ ...terms, noticeUs });
    return noticeUs + terms.reconnectUs;
  },
  "messages cut"({ messages }, stream) {
    const terms = cutTerms(stream, messages.inTransit);
    messages.cut(terms, pick(stream, [0, 100_000, 5_000_000]));
    return terms.lastsUs;
  },
  "messages half-open"({ messages }, stream) {
    const terms = cutTerms(stream, messages.inTransit);
    const noticeUs = pick(stream, [500, 3_000, 15_000]) * MS;
    messages.cut({ ...terms, noticeUs }, pick(stream, [0, 100_000, 20_000_000]));
    return noticeUs + terms.reconnectUs;
  },
  "slow requests"({ commands }, stream) {
    const us = spanUs(stream);
    commands.hold("there", us);
    return us;
  },
  "slow replies"({ commands }, stream) {
    const us = spanUs(stream);
    commands.hold("back", us);
    return us;
  },
  "slow messages"({ messages }, stream) {
    const us = spanUs(stream);
    messages.hold(us);
    return us;
  },
  stop({ process }, stream, { time }) {
    const us = spanUs(stream);
    process.stop();
    time.after(us, () => process.continue());
    return us;
  },
  suspend({ process }, stream, { time }) {
    const us = spanUs(stream);
    process.suspend();
    time.after(us, () => process.continue());
    return us;
  },
  stall({ process }, stream) {
    const us = spanUs(stream);
    process.stallAt(1 + stream.choose(12), us);
    return us;
  },
  "clock step"({ process }, stream) {
    process.stepWall(pick(stream, [50, -50, 3_600_000, -3_600_000]));
    return 0;
  },
  kill(node, stream, reach) {
    const { process, commands, messages } = node;
    process.kill();
    commands.end();
    messages.end(pick(stream, [0, 100_000, 60_000_000]));
    if (oneIn(stream, 2)) reach.time.after(spanUs(stream), () => reach.restart(node));
    return 0;
  },
} satisfies Record<string, (node: Node, stream: Stream, reach: Reach) => number>;

const SERVER_STRIKES = {
  "server stands still"(stream, { server, time }) {
    const us = spanUs(stream);
    server.gate.shut();
    time.after(us, () => server.gate.open());
    return us;
  },
  "server restarts"(stream, { server, nodes }) {
    server.forgetScripts();
    let lastsUs = 0;
    for (const { commands, messages } of nodes()) {
      const terms = cutTerms(stream, commands.inTransit);
      commands.cut(terms);
      messages.cut(cutTerms(stream, messages.inTransit), 0);
      lastsUs = Math.max(lastsUs, terms.lastsUs, 3_000_000);
    }
    return lastsUs;
  },
  "scripts flushed"(_, { server }) {
    server.forgetScripts();
    return 0;
  },
  "server full"(stream, { server, time }) {
    const us = spanUs(stream);
    server.isFull = true;
    time.after(us, () => {
      server.isFull = false;
    });
    return us;
  },
} satisfies Record<string, (stream: Stream, reach: Reach) => number>;

type NodeSort = keyof typeof STRIKES;
type ServerSort = keyof typeof SERVER_STRIKES;
export type FaultSort = NodeSort | ServerSort | "message lost";

export const FAULT_SORTS: readonly [FaultSort, ...FaultSort[]] = [
  "cut",
  ...(Object.keys(STRIKES).slice(1) as NodeSort[]),
  ...(Object.keys(SERVER_STRIKES) as ServerSort[]),
  "message lost",
];

/** All that befalls one fleet. */
export class Faults implements LinkWatch {
  readonly #planned: Planned[] = [];
  readonly #losing = new Set<string>();
  #reach: Reach | undefined;

  /** @param processes how many there are */
  constructor(chooser: Chooser, processes: number) {
    const plan = chooser.stream("faults");
    const count = pick(plan, [0, 2, 3, 4, 5, 6, 8]);
    for (let at = 0; at < count; at += 1) {
      const stream = chooser.stream(`fault${at}`);
      this.#planned.push({
        sort: pick(stream, FAULT_SORTS),
        process: `p${stream.choose(processes)}`,
        moment: pick(stream, MOMENTS),
        nth: between(stream, 1, 16),
        stream,
        isDone: false,
      });
    }
  }

  begin(reach: Reach): void {
    this.#reach = reach;
  }

  reached({ name }: CommandLink, moment: Moment, nth: number): void {
    for (const fault of this.#planned) {
      if (fault.isDone || fault.process !== name || fault.moment !== moment || fault.nth !== nth) continue;
      fault.isDone = true;
      this.#strike(fault);
    }
  }

  /** Whether a message that has come gets lost. */
  loses({ name }: MessageLink): boolean {
    return this.#losing.delete(name);
  }

  #strike({ sort, process: name, stream }: Planned): void {
    const reach = this.#reach;
    const node = reach?.nodes().find(({ process }) => process.name === name);
    if (reach === undefined || node === undefined || node.process.isDead) return;
    if (sort === "message lost") {
      this.#losing.add(name);
      reach.history.add("world", `the next message to ${name} gets lost`);
      reach.trouble.begin(sort, name, 0, true);
      return;
    }
    const isOfNode = sort in STRIKES;
    const lastsUs = isOfNode
      ? STRIKES[sort as NodeSort](node, stream, reach)
      : SERVER_STRIKES[sort as ServerSort](stream, reach);
    reach.trouble.begin(sort, isOfNode ? name : undefined, lastsUs, node.commands.underWay > 0);
    reach.history.add("world", `${sort}${isOfNode ? ` of ${name}` : ""} for ${lastsUs / MS} ms`);
  }
}
