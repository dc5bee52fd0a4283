import type { History } from "../checker/history.js";
import type { Trouble } from "../checker/trouble.js";
import type { Line, Node } from "../world/fleet.js";
import type { ChosenTime, Deed } from "./chosen-time.js";
import { Footprint } from "./footprint.js";

/**
 * What may be done to a process of a scene, whenever something is on its way that it hits:
 * - "cut": its connection for commands breaks. What is on its way to the server is lost, or arrives at any time from then on, also
 *   after its copy on the next connection; answers that have not come until the process notices are lost.
 * - "late copy": the same, when something is on its way to the server, all of which arrives.
 * - "message lost": the next message to it gets lost, while the connection lives.
 * - "messages cut": its connection for messages breaks.
 * - "kill": it dies. What it has sent arrives.
 */
export type FaultName = "cut" | "late copy" | "message lost" | "messages cut" | "kill";

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
  done = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** All that may be done at this moment. */
  now(): readonly Deed[] {
    const { nodes, sorts, most } = this.#parts;
    if (this.done >= most) return [];
    const live = nodes.filter(({ process }) => !process.isDead);
    return sorts.flatMap((sort) => live.flatMap((node) => this.#ofNode(sort, node)));
  }

  #ofNode(sort: FaultName, node: Node): Deed[] {
    if (sort !== "kill") return node.lines.flatMap((line) => this.#ofLine(sort, line));
    return [this.#deed(sort, node.lines, ["commands", "messages"], () => this.#kill(node))];
  }

  #ofLine(sort: Exclude<FaultName, "kill">, line: Line): Deed[] {
    const { commands, messages } = line;
    switch (sort) {
      case "cut":
      case "late copy": {
        const { there, back } = commands.inTransit;
        if (there + back === 0 || !commands.isConnected) return [];
        const arriving = sort === "cut" ? [...new Set([0, there])] : [there].filter((arrive) => arrive > 0);
        return arriving.map((arrive) => {
          const text = there === 0 ? "cut" : `cut, what was sent ${arrive === 0 ? "is lost" : "arrives"}`;
          return this.#deed(text, [line], ["commands"], () =>
            commands.cut({ there: arrive, back, lateUs: undefined, ...SOON }),
          );
        });
      }
      case "message lost":
        if (messages.inTransit.back === 0) return [];
        return [this.#deed(sort, [line], ["messages"], () => messages.loseNext(() => undefined))];
      case "messages cut": {
        const { there, back } = messages.inTransit;
        if (there + back === 0) return [];
        return [
          this.#deed(sort, [line], ["messages"], () =>
            messages.cut({ there: 0, back, lateUs: undefined, ...SOON }, 0),
          ),
        ];
      }
      default:
        return sort satisfies never;
    }
  }

  #deed(text: string, lines: readonly Line[], links: readonly string[], act: () => void): Deed {
    const { trouble, history } = this.#parts;
    const footprint = new Footprint();
    footprint.changes("faults");
    for (const { commands } of lines) {
      if (text === "kill") footprint.changes(commands.process.name);
      for (const link of links) {
        for (const queue of this.#queuesOf(`${commands.name} ${link}`)) footprint.changes(queue);
      }
    }
    const of = lines.map(({ commands }) => commands.name).join();
    const process = lines[0]?.commands.process.name;
    return {
      id: `${text}: ${of}`,
      footprint,
      act: () => {
        this.done += 1;
        history.add("world", `${text}: ${of}`);
        trouble.begin(text, process, 0, true);
        act();
      },
    };
  }

  /** Both ends of both ways of all connections that follow each other in a link. */
  #queuesOf(link: string): string[] {
    const nths = Array.from({ length: this.#parts.most + 1 }, (_, at) => at + 1);
    const ends = ["there front", "there end", "back front", "back end"];
    return nths.flatMap((nth) => ends.map((end) => `${link} ${nth} ${end}`));
  }

  #kill({ process, lines }: Node): void {
    process.kill();
    for (const { commands, messages } of lines) {
      commands.end();
      messages.end(0);
    }
    this.#parts.time.forget(process.name);
  }
}
