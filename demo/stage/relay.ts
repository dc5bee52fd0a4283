import type { Driver, Unsubscribe } from "holdfast";
import type { Stock } from "../tasks/task.js";
import { asError } from "./failure.js";
import type { RelayNews, RelayRequest, RelayResult } from "./relay-message.js";

/** The end of a relay in the process that has the server: does what a worker process asks for, and sends it the messages. */
export class Relay {
  readonly #driver: Driver;
  readonly #stock: Stock;
  readonly #tell: (news: RelayNews) => void;
  readonly #listening = new Map<string, Unsubscribe>();

  constructor(driver: Driver, stock: Stock, tell: (news: RelayNews) => void) {
    this.#driver = driver;
    this.#stock = stock;
    this.#tell = tell;
  }

  hear(id: number, request: RelayRequest): void {
    this.#obey(request).then(
      (result) => this.#tell({ what: "done", id, result }),
      (error: unknown) => this.#tell({ what: "failed", id, message: asError(error).message }),
    );
  }

  async close(): Promise<void> {
    await this.#driver.close();
  }

  async #obey(request: RelayRequest): Promise<RelayResult> {
    switch (request.what) {
      case "run":
        return this.#driver.run(request.call, { givenUp: false });
      case "subscribe":
        return this.#subscribe(request.channel);
      case "unsubscribe":
        await this.#listening.get(request.channel)?.();
        return undefined;
      case "read":
        return this.#stock.read();
      case "write":
        await this.#stock.write(request.left);
        return undefined;
      case "write fenced":
        return this.#stock.writeFenced(request.left, request.token);
    }
  }

  async #subscribe(channel: string): Promise<undefined> {
    const unsubscribe = await this.#driver.subscribe(channel, {
      onMessage: (message) => this.#tell({ what: "message", channel, message }),
      onReady: () => this.#tell({ what: "ready", channel }),
    });
    this.#listening.set(channel, unsubscribe);
    return undefined;
  }
}
