import type { ConnectionEvents, OwnConnection } from "../../../src/driver/own/connection.js";

/** A Sentinel that says what the test has it say. */
export class ScriptedSentinel {
  /** The port of the master that it names. */
  master = 1;
  epoch = 0;
  isFailingOver = false;
  /** An answer comes no sooner. */
  answersAfter: Promise<unknown> = Promise.resolve();
  /** Channels that this user may not listen to. */
  readonly refused = new Set<string>();
  readonly #listening = new Set<ConnectionEvents>();

  readonly open = (events: ConnectionEvents): OwnConnection => {
    queueMicrotask(() => events.onReady());
    return {
      subscribe: async (channel) => {
        if (this.refused.has(channel)) throw new Error("NOPERM no permissions to access a channel");
        this.#listening.add(events);
      },
      unsubscribe: async () => undefined,
      send: async ([, question]) => {
        const answer = question === "MASTER" ? this.#state() : ["h", String(this.master)];
        await this.answersAfter;
        return answer;
      },
      close: async () => void this.#listening.delete(events),
    };
  };

  tell(channel: string): void {
    for (const events of this.#listening) events.onMessage(channel, "master main h 1");
  }

  #state(): string[] {
    const flags = this.isFailingOver ? "master,failover_in_progress" : "master";
    return ["ip", "h", "port", String(this.master), "flags", flags, "config-epoch", String(this.epoch)];
  }
}
