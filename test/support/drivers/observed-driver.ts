import type { ChannelListener, Driver, PubSubFamily, Unsubscribe } from "../../../src/driver/driver.js";
import type { ScriptCall } from "../../../src/protocol/script-call.js";
import { until } from "../run/until.js";
import { ScriptedDriver } from "./scripted-driver.js";

/** What was seen of a client so far. */
interface Seen {
  /** Calls without an answer. */
  underWay: number;
  /** Subscriptions that do not stand yet. */
  subscribing: number;
  sentMs: number;
  /** How often a lock was asked for, and an answer came. */
  asked: number;
  askedSinceReady: number;
  /** How often messages have begun to arrive. */
  readied: number;
}

/** Between a client and its server, to see when a call of the client waits. */
export class ObservedDriver extends ScriptedDriver {
  readonly #seen: Seen;

  constructor(driver: Driver) {
    const seen: Seen = {
      underWay: 0,
      subscribing: 0,
      sentMs: Number.NEGATIVE_INFINITY,
      asked: 0,
      askedSinceReady: 0,
      readied: 0,
    };
    super(driver, {
      sent() {
        seen.underWay += 1;
        seen.sentMs = performance.now();
      },
      answered(call) {
        seen.underWay -= 1;
        if (!asks(call)) return;
        seen.asked += 1;
        seen.askedSinceReady += 1;
      },
      failed() {
        seen.underWay -= 1;
      },
      ready() {
        seen.readied += 1;
        seen.askedSinceReady = 0;
      },
    });
    this.#seen = seen;
  }

  override async subscribe(
    channel: string,
    listener: ChannelListener,
    family?: PubSubFamily,
  ): Promise<Unsubscribe> {
    this.#seen.subscribing += 1;
    try {
      return await super.subscribe(channel, listener, family);
    } finally {
      this.#seen.subscribing -= 1;
    }
  }

  /** How long ago the latest call was sent, in milliseconds. */
  get idleMs(): number {
    return performance.now() - this.#seen.sentMs;
  }

  /** How many were asked for so far. */
  get subscriptions(): number {
    return this.channels.asked.length;
  }

  /**
   * Resolves when the call that the client has just made was refused, and waits: for a message, having asked once more
   * since messages arrive, or with `polling` for the time to ask again.
   */
  waits({ polling = false }: { readonly polling?: boolean } = {}): Promise<void> {
    const seen = this.#seen;
    const { asked, readied } = seen;
    const refused = polling
      ? () => seen.asked > asked
      : () => seen.readied > readied && seen.askedSinceReady > 0;
    return until(() => seen.underWay === 0 && seen.subscribing === 0 && refused());
  }
}

function asks({ script }: ScriptCall): boolean {
  return /-(?:acquire|look|refresh)$/.test(script.name);
}
