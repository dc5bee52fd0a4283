import { Controller, Param, Post } from "@nestjs/common";
import { Orders } from "./orders.js";

@Controller("orders")
export class OrdersController {
  constructor(private readonly orders: Orders) {}

  @Post(":id/pay")
  pay(@Param("id") id: string): Promise<string> {
    return this.orders.pay(id);
  }
}
