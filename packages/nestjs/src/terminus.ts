import { Inject, Injectable } from "@nestjs/common";
import { ModuleRef } from "@nestjs/core";
import { type HealthIndicatorResult, HealthIndicatorService } from "@nestjs/terminus";
import type { Holdfast } from "holdfast";
import { type Messages, messageOf } from "./messages.js";
import { getHoldfastToken, messagesToken } from "./tokens.js";

/** The checks, and their time limit. */
export interface HoldfastHealthOptions {
  /** The name of the client. Default: the client without a name. */
  readonly client?: string;
  /** The time limit for each of the two checks, in milliseconds. Default: 1 000. */
  readonly timeoutMs?: number;
}

/**
 * Reports the state of the locks' server to Terminus: `up`; `down` if it does not answer; `degraded` if it answers but its messages do not
 * arrive. If `degraded`, locks work, but waiters wake up late.
 */
@Injectable()
export class HoldfastHealthIndicator {
  readonly #health: HealthIndicatorService;
  readonly #modules: ModuleRef;

  constructor(
    @Inject(HealthIndicatorService) health: HealthIndicatorService,
    @Inject(ModuleRef) modules: ModuleRef,
  ) {
    this.#health = health;
    this.#modules = modules;
  }

  /**
   * @param key the name in the result of Terminus
   * @throws Error without a client of that name
   */
  async check(
    key: string,
    { client, timeoutMs = 1_000 }: HoldfastHealthOptions = {},
  ): Promise<HealthIndicatorResult> {
    const holdfast = this.#find<Holdfast>(getHoldfastToken(client));
    const messages = this.#find<Messages | null>(messagesToken(client));
    const indicator = this.#health.check(key);
    try {
      const { server, rttMs } = await holdfast.ping({ timeoutMs });
      const failure = await messages?.failure(timeoutMs);
      if (failure === undefined) return indicator.up({ server, rttMs });
      const seen = { server, rttMs, messages: failure };
      // Terminus 11 has no state `degraded`.
      return "degraded" in indicator ? indicator.degraded(seen) : (indicator as Former).up(seen);
    } catch (error) {
      return indicator.down({ message: messageOf(error) });
    }
  }

  #find<T>(token: string): T {
    try {
      return this.#modules.get<T>(token, { strict: false });
    } catch (cause) {
      throw new Error(`HoldfastModule is not imported, or not with that name: there is no ${token}`, {
        cause,
      });
    }
  }
}

type Former = Pick<ReturnType<HealthIndicatorService["check"]>, "up">;
