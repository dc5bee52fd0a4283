import { Injectable, type OnApplicationShutdown } from "@nestjs/common";
import { Redis } from "ioredis";

/** Where orders are stored, and what the example counts: in your service a database. */
@Injectable()
export class Shop implements OnApplicationShutdown {
  readonly #redis = new Redis(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379");

  async isPaid(id: string): Promise<boolean> {
    return (await this.#redis.get(`shop:${id}:paid`)) !== null;
  }

  /** The bank takes as many milliseconds as the name of the order ends with. */
  async charge(id: string): Promise<void> {
    await this.#redis.publish("shop", `${id} is charged`);
    await new Promise((resolve) => setTimeout(resolve, Number(id.split("-").at(-1))));
    await this.#redis.incr(`shop:${id}:payments`);
    await this.#redis.set(`shop:${id}:paid`, "yes");
  }

  /** A report, with the process that made it. */
  async report(): Promise<void> {
    await this.#redis.rpush("shop:reports", process.pid);
    await this.#redis.publish("shop", "a report is made");
  }

  /** Not in `onModuleDestroy`: orders are still being paid then. */
  onApplicationShutdown(): void {
    this.#redis.disconnect();
  }
}
