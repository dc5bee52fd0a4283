// #region cron
import { Injectable } from "@nestjs/common";
import { Cron } from "@nestjs/schedule";
import { RunOnce } from "holdfast-nestjs";
import { Shop } from "./shop.js";

@Injectable()
export class Reports {
  constructor(private readonly shop: Shop) {}

  /** Every process has this schedule, and one of them runs each of its times. */
  @Cron("*/2 * * * * *")
  @RunOnce({ gridMs: 2_000 })
  async report(): Promise<void> {
    await this.shop.report();
  }
}
// #endregion
