import { Controller, Get } from "@nestjs/common";
import { HealthCheck, type HealthCheckService } from "@nestjs/terminus";
import type { HoldfastHealthIndicator } from "holdfast-nestjs/terminus";

// #region health
@Controller("health")
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly locks: HoldfastHealthIndicator,
  ) {}

  @Get()
  @HealthCheck()
  check() {
    return this.health.check([() => this.locks.check("locks")]);
  }
}
// #endregion
