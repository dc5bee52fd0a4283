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
  name: "watchdog",
  title: "Work longer than its TTL",
  intro:
    "Every lock has a TTL in Redis, so that one whose holder is gone falls by itself. While a holder lives, the " +
    `watchdog sets the TTL back at each third of it. The TTL here is ${seconds(WATCHDOG_MS)} (default: 30 s) and ` +
    "the work takes more than twice as long.",
  code: [
    "new Holdfast(driver, { watchdogMs: 3_000 }); // default: 30_000",
    'await holdfast.getLock("import").using(longWork); // renewed to its end',
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
          says: `its TTL rose ${watch.rises} times and was never seen below ${seconds(watch.lowestMs)}`,
          holds: watch.rises >= 2,
        },
        {
          says: `B tried when the first TTL was over and ${watch.strangerCameIn ? "came in" : "was refused"}`,
          holds: watch.strangerCameIn === false,
        },
      ],
      measured: `held ${seconds(watch.heldMs)}, first TTL ${seconds(WATCHDOG_MS)}, renewed ${watch.rises} times`,
    };
  },
};

interface Watch {
  readonly heldMs: number;
  readonly lowestMs: number;
  readonly rises: number;
  /** Undefined when nobody tried. */
  readonly strangerCameIn: boolean | undefined;
}

async function watchHold(stage: Stage, screen: Screen): Promise<Watch> {
  const startMs = performance.now();
  const gauge = new TtlGauge(screen, WATCHDOG_MS);
  let heldMs = 0;
  let strangerCameIn: boolean | undefined;
  while (heldMs < HOLD_MS) {
    const { ttlMs } = await stage.observer.inspect(LOCK);
    heldMs = performance.now() - startMs;
    gauge.show(heldMs, ttlMs);
    if (strangerCameIn === undefined && heldMs > WATCHDOG_MS) {
      strangerCameIn = await stage.worker("B").start("lookIn", { lock: LOCK }).result;
      gauge.remark("B", `tries, now that the first TTL is over: ${strangerCameIn ? "enters" : "refused"}`);
    }
    await sleep(SAMPLE_MS);
  }
  return { heldMs, lowestMs: gauge.lowestMs, rises: gauge.rises, strangerCameIn };
}
