import { expect, it } from "vitest";
import type { Stream } from "../chooser/chooser.js";
import { SimProcess } from "./sim-process.js";
import { VirtualTime } from "./virtual-time.js";

const onTime = { choose: () => 0 } as unknown as Stream;

it("never sets its monotonic clock back, also where its machine falls asleep while its code is stopped", async () => {
  const time = new VirtualTime(() => new Promise(setImmediate));
  const process = new SimProcess("p0", time, { epochMs: 0, rate: 1 }, onTime);
  const shown = [process.clock.monotonicMs()];
  process.stallAt(1, 50_000, () => undefined);
  shown.push(process.clock.monotonicMs());
  await time.pass(10_000);
  process.suspend();
  await time.pass(30_000);
  shown.push(process.clock.monotonicMs());
  await time.pass(80_000);
  process.continue();
  shown.push(process.clock.monotonicMs());
  await time.pass(90_000);
  shown.push(process.clock.monotonicMs());
  expect(shown).toEqual([60_000, 60_050, 60_050, 60_050, 60_060]);
});
