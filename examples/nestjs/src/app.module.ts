// #region module
import { Module } from "@nestjs/common";
import { APP_FILTER } from "@nestjs/core";
import { ScheduleModule } from "@nestjs/schedule";
import { TerminusModule } from "@nestjs/terminus";
import { ioredisDriver } from "holdfast/ioredis";
import { HoldfastExceptionFilter, HoldfastModule } from "holdfast-nestjs";
import { HoldfastHealthIndicator } from "holdfast-nestjs/terminus";
import { Redis } from "ioredis";
import { HealthController } from "./health.controller.js";
import { OrdersController } from "./orders.controller.js";
import { Orders } from "./orders.js";
import { Reports } from "./reports.js";
import { Shop } from "./shop.js";

export const locks = HoldfastModule.forRootAsync({
  useFactory: () => {
    const redis = new Redis(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379");
    redis.on("error", () => undefined); // ioredis reconnects by itself, and failing calls reject with the reason
    return { driver: ioredisDriver(redis), disconnect: () => redis.disconnect() };
  },
});

@Module({
  imports: [locks, ScheduleModule.forRoot(), TerminusModule],
  controllers: [OrdersController, HealthController],
  providers: [
    Shop,
    Orders,
    Reports,
    HoldfastHealthIndicator,
    { provide: APP_FILTER, useClass: HoldfastExceptionFilter },
  ],
})
export class AppModule {}
// #endregion
