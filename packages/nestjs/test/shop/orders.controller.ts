import { Controller, Get, Inject, Param } from "@nestjs/common";
import { ApiOperation } from "@nestjs/swagger";
import type { Holdfast } from "holdfast";
import { InjectHoldfast, Locked } from "holdfast-nestjs";
import { tell } from "./lines.js";
import { Orders, type Seen } from "./orders.js";

@Controller("orders")
export class OrdersController {
  constructor(
    @Inject(Orders) private readonly orders: Orders,
    @InjectHoldfast() private readonly holdfast: Holdfast,
  ) {}

  @Get(":id")
  @ApiOperation({ summary: "locked above" })
  @Locked((id: string) => `order:${id}`, { onBusy: "throw" })
  async above(@Param("id") id: string): Promise<Seen> {
    return this.orders.seen(id);
  }

  @Locked((id: string) => `order:${id}`, { onBusy: "throw" })
  @Get(":id/below")
  @ApiOperation({ summary: "locked below" })
  async below(@Param("id") id: string): Promise<Seen> {
    return this.orders.seen(id);
  }

  @Get(":id/inside")
  inside(@Param("id") id: string): Promise<Seen> {
    return this.orders.pay(id);
  }

  /** Holds the lock until the client begins to close. */
  @Get(":id/slow")
  @Locked((id: string) => `order:${id}`, { onBusy: "throw" })
  async slow(@Param("id") id: string): Promise<Seen> {
    await new Promise<void>((resolve) => {
      this.holdfast.closing.addEventListener("abort", () => resolve());
      tell({ event: "slow" });
    });
    tell({ event: "closing" });
    await new Promise<void>((resolve) => {
      process.stdin.once("data", (order) => {
        tell({ event: "goes on", id: JSON.parse(String(order)).id });
        resolve();
      });
    });
    return this.orders.seen(id);
  }
}
