import type { History } from "../checker/history.js";
import type { Trouble } from "../checker/trouble.js";
import type { Node } from "../world/fleet.js";
import type { ChosenTime, Deed } from "./chosen-time.js";
import { Footprint } from "./footprint.js";

/**
 * What may be done to a process of a scene, whenever something is on its way that it hits:
 * - "cut": its connection for commands breaks. What is on its way to the server is lost, or arrives at any time from then on, also
 *   after its copy on the next connection; answers that have not come until the process notices are lost.
 * - "message lost": the next message to it gets lost, while the connection lives.
 * - "messages cut": its connection for messages breaks.
 * - "kill": it dies. What it has sent arrives.
 */
export type FaultName = "cut" | "message lost" | "messages cut" | "kill";

interface Parts {
  readonly time: ChosenTime;
  readonly nodes: readonly Node[];
  readonly trouble: Trouble;
  readonly history: History;
  readonly sorts: readonly FaultName[];
  /** How many there are at most. */
  readonly most: number;
}

const SOON = { noticeUs: 0, reconnectUs: 0 };

/** The faults of one run. */
export class Deeds {
  readonly #parts: Parts;
  readonly #losing = new Set<string>();
  done = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** All that may be done at this moment. */
  now(): readonly Deed[] {
    const { nodes, sorts, most } = this.#parts;
    if (this.done >= most) return [];
    const live = nodes.filter(({ process }) => !process.isDead);
    return sorts.flatMap((sort) => live.flatMap((node) => this.#of(sort, node)));
  }

  /** Whether a message to a process gets lost. */
  loses(process: string): boolean {
    return this.#losing.delete(process);
  }

  #of(sort: FaultName, node: Node): Deed[] {
    const { commands, messages, process } = node;
    switch (sort) {
      case "cut": {
        const { there, back } = commands.inTransit;
        if (there + back === 0 || !commands.isConnected) return [];
        const arriving = there === 0 ? [0] : [0, there];
        return arriving.map((arrive) => {
          const text = there === 0 ? "cut" : `cut, what was sent ${arrive === 0 ? "is lost" : "arrives"}`;
          return this.#deed(text, node, ["commands"], () =>
            commands.cut({ there: arrive, back, lateUs: undefined, ...SOON }),
          );
        });
      }
      case "message lost":
        if (messages.inTransit.back === 0 || this.#losing.has(process.name)) return [];
        return [this.#deed(sort, node, ["messages"], () => this.#losing.add(process.name))];
      case "messages cut": {
        const { there, back } = messages.inTransit;
        if (there + back === 0) return [];
        return [
          this.#deed(sort, node, ["messages"], () =>
            messages.cut({ there: 0, back, lateUs: undefined, ...SOON }, 0),
          ),
        ];
      }
      case "kill":
        return [this.#deed(sort, node, ["commands", "messages"], () => this.#kill(node))];
      default:
        return sort satisfies never;
    }
  }

  #deed(text: string, { process, commands }: Node, links: readonly string[], act: () => void): Deed {
    const { trouble, history } = this.#parts;
    const footprint = new Footprint();
    footprint.changes("faults");
    for (const link of links) footprint.changes(`${process.name} ${link}`);
    if (text === "kill") footprint.changes(process.name);
    return {
      id: `${text}: ${process.name}`,
      footprint,
      act: () => {
        this.done += 1;
        history.add("world", `${text}: ${process.name}`);
        trouble.begin(text, process.name, 0, commands.underWay > 0);
        act();
      },
    };
  }

  #kill({ process, commands, messages }: Node): void {
    process.kill();
    commands.end();
    messages.end(0);
    this.#parts.time.forget(process.name);
  }
}
