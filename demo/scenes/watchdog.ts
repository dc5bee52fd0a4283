import { setTimeout as sleep } from "node:timers/promises";
import type { Stage } from "../stage/stage.js";
import type { Screen } from "../terminal/screen.js";
import { seconds } from "../terminal/units.js";
import type { Scene } from "./scene.js";
import { TtlGauge } from "./ttl-gauge.js";

const LOCK = "import";
/** Instead of 30 s, so that one can watch it. */
const WATCHDOG_MS = 3_000;
const HOLD_MS = 6_400;
const SAMPLE_MS = 400;

/** The watchdog keeps a hold alive for as long as the work takes. */
export const watchdog: Scene = {
  title: "Work that takes longer than the TTL",
  intro:
    "Every lock has a TTL in Redis, so that one whose holder is gone falls by itself. While a holder lives, the " +
    `watchdog sets the TTL back at each third of it. The TTL here is ${seconds(WATCHDOG_MS)} (default: 30 s) and ` +
    "the work takes more than twice as long.",
  code: [
    `new Holdfast(driver, { watchdogMs: ${WATCHDOG_MS} }); // default: 30_000`,
    'await holdfast.getLock("import").using(longWork); // renewed until longWork ends',
  ].join("\n"),

  async play(stage, screen) {
    const job = stage
      .worker("A")
      .start(
        "visit",
        { lock: LOCK, times: 1, stayMs: "until told", pauseMs: 0 },
        { tuning: { watchdogMs: WATCHDOG_MS } },
      );
    await job.next("entered");
    const watch = await watchHold(stage, screen);
    job.goOn();
    const kept = await job.result;
    return {
      checks: [
        {
          says: `the hold lasted ${seconds(watch.heldMs)}, past its first TTL of ${seconds(WATCHDOG_MS)}`,
          holds: kept && watch.heldMs > WATCHDOG_MS && watch.lowestMs > 0,
        },
        {
          says: `the TTL rose again and again: ${watch.rises} times; it never fell below ${seconds(watch.lowestMs)}`,
          holds: watch.rises >= 2,
        },
        {
          says: `a stranger who tried after the first TTL was over came in ${watch.intrusions} of ${watch.tries} times`,
          holds: watch.tries > 0 && watch.intrusions === 0,
        },
      ],
      measured: `held ${seconds(watch.heldMs)} on a TTL of ${seconds(WATCHDOG_MS)}, ${watch.rises} renewals seen`,
    };
  },
};

interface Watch {
  readonly heldMs: number;
  readonly lowestMs: number;
  readonly rises: number;
  readonly tries: number;
  readonly intrusions: number;
}

async function watchHold(stage: Stage, screen: Screen): Promise<Watch> {
  const startMs = performance.now();
  const gauge = new TtlGauge(screen, WATCHDOG_MS);
  let heldMs = 0;
  let tries = 0;
  let intrusions = 0;
  while (heldMs < HOLD_MS) {
    const { ttlMs } = await stage.observer.inspect(LOCK);
    heldMs = performance.now() - startMs;
    gauge.show(heldMs, ttlMs);
    if (tries === 0 && heldMs > WATCHDOG_MS) {
      tries += 1;
      const cameIn = await stage.worker("B").start("lookIn", { lock: LOCK }).result;
      if (cameIn) intrusions += 1;
      screen.line(
        `             the first TTL would be over here; B tries: ${cameIn ? "comes in" : "refused"}`,
      );
    }
    await sleep(SAMPLE_MS);
  }
  return { heldMs, lowestMs: gauge.lowestMs, rises: gauge.rises, tries, intrusions };
}
