import { Controller, Get, Inject, Injectable } from "@nestjs/common";
import { Cron, SchedulerRegistry } from "@nestjs/schedule";
import { RunOnce } from "holdfast-nestjs";
import { tell } from "./lines.js";

/** No test lasts so long that two of its calls are of two times. */
const YEARS_MS = 157_680_000_000;
const once = { gridMs: YEARS_MS, rememberMs: YEARS_MS };

@Injectable()
export class Jobs {
  @Cron("0 0 1 1 *", { name: "above" })
  @RunOnce(once)
  async above(): Promise<void> {
    tell({ event: "ran", job: "above" });
  }

  @RunOnce({ ...once, name: "jobs.below" })
  @Cron("0 0 1 1 *", { name: "below" })
  async below(): Promise<void> {
    tell({ event: "ran", job: "below" });
  }
}

/** Calls what the scheduler would call at its time. */
@Controller("jobs")
export class JobsController {
  constructor(@Inject(SchedulerRegistry) private readonly registry: SchedulerRegistry) {}

  @Get()
  async fire(): Promise<string[]> {
    const jobs = [...this.registry.getCronJobs()];
    await Promise.all(jobs.map(([, job]) => job.fireOnTick()));
    return jobs.map(([name]) => name);
  }
}
