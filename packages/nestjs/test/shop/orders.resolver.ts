import { Inject } from "@nestjs/common";
import { Args, Query, Resolver } from "@nestjs/graphql";
import { Locked } from "holdfast-nestjs";
import { Orders } from "./orders.js";

@Resolver()
export class OrdersResolver {
  constructor(@Inject(Orders) private readonly orders: Orders) {}

  @Query(() => Boolean)
  @Locked((id: string) => `order:${id}`, { onBusy: "throw" })
  async above(@Args("id", { type: () => String }) id: string): Promise<boolean> {
    return (await this.orders.seen(id)).held;
  }

  @Locked((id: string) => `order:${id}`, { onBusy: "throw" })
  @Query(() => Boolean)
  async below(@Args("id", { type: () => String }) id: string): Promise<boolean> {
    return (await this.orders.seen(id)).held;
  }
}
