import type { ChannelListener, Driver, RawReply, ScriptCall, Unsubscribe } from "holdfast";
import type { Stock } from "../tasks/task.js";
import type { RelayNews, RelayRequest } from "./relay-message.js";

interface Pending {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/**
 * The server of another process, as a worker process sees it: all goes over the channel between the two. So a process that is killed or
 * stopped can be shown without a Redis server.
 */
export class RelayedServer {
  readonly #ask: (id: number, request: RelayRequest) => void;
  readonly #pending = new Map<number, Pending>();
  readonly #listeners = new Map<string, ChannelListener>();
  #lastId = 0;

  constructor(ask: (id: number, request: RelayRequest) => void) {
    this.#ask = ask;
  }

  readonly stock: Stock = {
    read: async () => Number(await this.#request({ what: "read" })),
    write: async (left) => {
      await this.#request({ what: "write", left });
    },
    writeFenced: async (left, token) => (await this.#request({ what: "write fenced", left, token })) === true,
  };

  /** A driver for one client. */
  driver(): Driver {
    return {
      traits: { server: "the embedded server of the demo", topology: "memory" },
      resets: 0,
      run: async (call: ScriptCall) => (await this.#request({ what: "run", call })) as RawReply,
      subscribe: (channel, listener) => this.#subscribe(channel, listener),
      close: async () => undefined,
    };
  }

  hear(news: RelayNews): void {
    switch (news.what) {
      case "message":
        this.#listeners.get(news.channel)?.onMessage(news.message);
        break;
      case "ready":
        this.#listeners.get(news.channel)?.onReady();
        break;
      case "done":
        this.#pending.get(news.id)?.resolve(news.result);
        this.#pending.delete(news.id);
        break;
      case "failed":
        this.#pending.get(news.id)?.reject(new Error(news.message));
        this.#pending.delete(news.id);
        break;
      default:
        news satisfies never;
    }
  }

  #request(request: RelayRequest): Promise<unknown> {
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#ask(id, request);
    });
  }

  async #subscribe(channel: string, listener: ChannelListener): Promise<Unsubscribe> {
    this.#listeners.set(channel, listener);
    await this.#request({ what: "subscribe", channel });
    return async () => {
      if (this.#listeners.get(channel) !== listener) return;
      this.#listeners.delete(channel);
      await this.#request({ what: "unsubscribe", channel });
    };
  }
}
