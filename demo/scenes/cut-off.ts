import { setTimeout as sleep } from "node:timers/promises";
import { machineMs } from "../machine-time.js";
import { seconds, span } from "../terminal/units.js";
import { watchLockPass } from "./after-loss.js";
import type { Scene } from "./scene.js";

const LOCK = "backup";
const WATCHDOG_MS = 3_000;
/** Well below the time that is left when a renewal fails. */
const COMMAND_TIMEOUT_MS = 1_000;
/** Long enough for one renewal. */
const LIFE_MS = 1_300;

/** A holder that lives on without its connection hears from its own clock that its lease is over. */
export const cutOff: Scene = {
  name: "cut-off",
  title: "A holder that is cut off",
  intro:
    `A holds the lock, with a TTL of ${seconds(WATCHDOG_MS)}, and B waits for it. Then A loses its connection and ` +
    "cannot renew any more. Its signal aborts before the TTL is over; B has seen the TTL and comes back when it is.",
  code: [
    'await holdfast.getLock("backup").using(async (lease) => {',
    "  await copyFiles({ signal: lease.signal }); // aborts when renewals fail",
    "});",
  ].join("\n"),

  async play(stage, screen) {
    const visit = { lock: LOCK, times: 1, pauseMs: 0 } as const;
    const tuning = { watchdogMs: WATCHDOG_MS, commandTimeoutMs: COMMAND_TIMEOUT_MS };
    const alone = stage.worker("A").start("visit", { ...visit, stayMs: "until told" }, { tuning });
    const { holder } = await alone.next("entered");
    const next = stage.worker("B").start("visit", { ...visit, stayMs: 0 });
    await next.next("asking");
    await sleep(LIFE_MS);
    await stage.worker("A").cut();
    const goneMs = machineMs();
    screen.line("  A's connection is gone. Its lock is not:");
    const passed = await watchLockPass(stage, screen, {
      lock: LOCK,
      fullMs: WATCHDOG_MS,
      holder,
      goneMs,
      told: "A was cut off",
      next,
    });
    await next.result;
    await alone.result;
    const [loss] = alone.all("lost");
    const earlierMs = loss === undefined ? 0 : passed.enteredMs - loss.atMs;
    const when =
      loss === undefined ? "never" : `reason "${loss.reason}", ${span(earlierMs)} before B entered`;
    return {
      checks: [
        ...passed.checks,
        {
          says: `A, cut off but alive, was told by its signal: ${when}`,
          holds: loss !== undefined && earlierMs >= 0,
        },
      ],
      measured: passed.measured,
    };
  },
};
