import { Inject, Injectable } from "@nestjs/common";
import { ModuleRef } from "@nestjs/core";
import { type HealthIndicatorResult, HealthIndicatorService } from "@nestjs/terminus";
import type { Holdfast } from "holdfast";
import { getHoldfastToken } from "./tokens.js";

/** What is asked, and for how long. */
export interface HoldfastHealthOptions {
  /** The name of the client. Default: the one without a name. */
  readonly client?: string;
  /** In milliseconds. Default: 1 000. */
  readonly timeoutMs?: number;
}

/** Tells Terminus whether the server of the locks answers. */
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

  async check(
    key: string,
    { client, timeoutMs = 1_000 }: HoldfastHealthOptions = {},
  ): Promise<HealthIndicatorResult> {
    const indicator = this.#health.check(key);
    try {
      const holdfast = this.#modules.get<Holdfast>(getHoldfastToken(client), { strict: false });
      const { server, rttMs } = await holdfast.ping({ timeoutMs });
      return indicator.up({ server, rttMs });
    } catch (error) {
      return indicator.down({ message: error instanceof Error ? error.message : String(error) });
    }
  }
}
