import {
  type CanActivate,
  type DynamicModule,
  type ExecutionContext,
  Injectable,
  Module,
} from "@nestjs/common";
import { APP_FILTER } from "@nestjs/core";
import { ScheduleModule } from "@nestjs/schedule";
import { TerminusModule } from "@nestjs/terminus";
import { ioredisDriver } from "holdfast/ioredis";
import { HoldfastExceptionFilter, HoldfastInspectorModule, HoldfastModule } from "holdfast-nestjs";
import { HoldfastHealthIndicator } from "holdfast-nestjs/terminus";
import { Redis } from "ioredis";
import { HealthController } from "./health.controller.js";
import { Jobs, JobsController } from "./jobs.js";
import { tell } from "./lines.js";
import { OrdersController } from "./orders.controller.js";
import { Orders } from "./orders.js";
import { OrdersResolver } from "./orders.resolver.js";

@Injectable()
export class AdminGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return context.switchToHttp().getRequest().headers["x-role"] === "admin";
  }
}

@Module({})
// biome-ignore lint/complexity/noStaticOnlyClass: a module of Nest is a class.
export class ShopModule {
  /** @param further modules: that of GraphQL */
  static with(redisUrl: string, further: DynamicModule[]): DynamicModule {
    return {
      module: ShopModule,
      imports: [
        HoldfastModule.forRootAsync({
          useFactory: () => {
            const redis = new Redis(redisUrl);
            const disconnect = async () => {
              tell({ event: "disconnects" });
              await redis.quit();
            };
            return { driver: ioredisDriver(redis), disconnect };
          },
        }),
        HoldfastInspectorModule.register({ guards: [AdminGuard] }),
        ScheduleModule.forRoot(),
        TerminusModule,
        ...further,
      ],
      controllers: [OrdersController, JobsController, HealthController],
      providers: [
        Orders,
        Jobs,
        HoldfastHealthIndicator,
        { provide: APP_FILTER, useClass: HoldfastExceptionFilter },
        ...(further.length === 0 ? [] : [OrdersResolver]),
      ],
    };
  }
}
