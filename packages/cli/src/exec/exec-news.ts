import { tellDuration } from "../duration.js";
import type { Output } from "../output.js";
import { plain } from "../text/plain.js";
import type { ExecSettings } from "./exec-options.js";
import type { GuardNews, Loss } from "./guard.js";

/** Reports on stderr what happens to the lock and the command. */
export class ExecNews implements GuardNews {
  readonly #output: Output;
  readonly #lock: string;
  readonly #command: string;
  readonly #heldMs: () => number;

  constructor(output: Output, { name, command }: ExecSettings, heldMs: () => number) {
    this.#output = output;
    this.#lock = `lock "${plain(name)}"`;
    this.#command = plain(command.called);
    this.#heldMs = heldMs;
  }

  stopping(loss: Loss, killInMs: number): void {
    const next = `SIGTERM sent to ${this.#command}, SIGKILL in ${tellDuration(killInMs)}`;
    this.#output.complain(`${this.#tell(loss)}; ${next}`);
  }

  killing(loss: Loss | undefined): void {
    const why =
      loss === undefined ? `${this.#command} has not ended since the second signal` : this.#tell(loss);
    this.#output.complain(`${why}; SIGKILL sent to ${this.#command}`);
  }

  lingering(pids: readonly number[]): void {
    this.#output.say(
      `${this.#command} has ended, but ${processes(pids)} of its group still run: the lock is kept until they end`,
    );
  }

  surviving(pids: readonly number[]): void {
    this.#output.complain(`${processes(pids)} of ${this.#command} could not be killed, and may still run`);
  }

  killLater(signal: NodeJS.Signals, inMs: number): void {
    this.#output.say(`a second ${signal}: SIGKILL to ${this.#command} in ${tellDuration(inMs)}`);
  }

  #tell({ reason }: Loss): string {
    return `${this.#lock} ${WHY[reason]}, after ${tellDuration(this.#heldMs())}`;
  }
}

const WHY: Readonly<Record<Loss["reason"], string>> = {
  unconfirmed: "could not be renewed in time",
  unreachable: "could not be renewed in time",
  "lease-ends": "reaches the end of its --lease",
  "max-hold-ends": "reaches the end of its --max-hold",
  "max-hold": "has reached the end of its --max-hold",
  expired: "has expired, because holdfast or the machine was stopped",
  stolen: "was removed: freed by force, or lost by Redis",
  "server-changed": "was lost in a failover: the new master does not have it",
  closed: "was given up",
  released: "was released",
};

function processes(pids: readonly number[]): string {
  const shown = pids.slice(0, MOST_SHOWN).join(", ");
  const more = pids.length > MOST_SHOWN ? ", …" : "";
  return `${pids.length === 1 ? "1 process" : `${pids.length} processes`} (pid ${shown}${more})`;
}

const MOST_SHOWN = 10;
