import { Controller, Get, Inject } from "@nestjs/common";
import { HealthCheck, HealthCheckService } from "@nestjs/terminus";
import { HoldfastHealthIndicator } from "holdfast-nestjs/terminus";

@Controller("health")
export class HealthController {
  constructor(
    @Inject(HealthCheckService) private readonly health: HealthCheckService,
    @Inject(HoldfastHealthIndicator) private readonly locks: HoldfastHealthIndicator,
  ) {}

  @Get()
  @HealthCheck()
  check() {
    return this.health.check([() => this.locks.check("locks", { timeoutMs: 20_000 })]);
  }
}
