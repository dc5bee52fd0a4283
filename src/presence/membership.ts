import type { Client } from "../client.js";
import { environment } from "../environment.js";
import { events } from "../events.js";
import { Tally } from "../runtime/tally.js";
import type { Presence } from "./presence.js";
import { type PresenceSettings, UNKNOWN_GROUP_MS } from "./presence-options.js";

/** The membership of a client in its group, which begins with its first beat. The code that reports is loaded for that beat. */
export class Membership {
  readonly #client: Client;
  readonly #settings: PresenceSettings;
  readonly #bornMs: number;
  #presence: Presence | undefined;
  #isOver = false;

  constructor(client: Client, settings: PresenceSettings) {
    this.#client = client;
    this.#settings = settings;
    this.#bornMs = client.clock.monotonicMs();
    client.tally = new Tally(client.clock);
    const latestMs = Math.max(settings.everyMs, UNKNOWN_GROUP_MS);
    // A random delay, so that clients that were started together do not report together.
    client.after(settings.everyMs + environment.random() * latestMs, () => client.inBackground(this.#begin));
  }

  /** The client is closed. */
  leave(): void {
    this.#isOver = true;
    this.#client.tally = undefined;
    this.#presence?.leave();
  }

  readonly #begin = async (): Promise<void> => {
    try {
      const { Presence } = await import("./presence.js");
      if (this.#isOver) return;
      this.#presence = new Presence(this.#client, this.#settings, this.#bornMs);
      this.#presence.beat();
    } catch (error) {
      this.#failed(error);
    }
  };

  /** Loading fails, for example, if the package was removed while the process runs. */
  #failed(error: unknown): void {
    const { commands, id: clientId } = this.#client;
    const { group } = this.#settings;
    this.leave();
    if (events.presenceFailed.hasSubscribers)
      events.presenceFailed.publish({ clientId, server: commands.server, group, error, final: true });
  }
}
