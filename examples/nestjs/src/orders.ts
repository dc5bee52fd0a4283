// #region locked
import { Injectable } from "@nestjs/common";
import { Locked } from "holdfast-nestjs";
import { Shop } from "./shop.js";

@Injectable()
export class Orders {
  constructor(private readonly shop: Shop) {}

  /** One at a time for each order, in all processes. */
  @Locked((id: string) => `order:${id}`, { waitMs: 500 })
  async pay(id: string): Promise<string> {
    if (await this.shop.isPaid(id)) return "is paid already";
    await this.shop.charge(id);
    return "is paid";
  }
}
// #endregion
