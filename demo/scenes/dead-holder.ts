import { setTimeout as sleep } from "node:timers/promises";
import { machineMs } from "../machine-time.js";
import type { Job } from "../stage/job.js";
import type { Stage } from "../stage/stage.js";
import type { Screen } from "../terminal/screen.js";
import { exactSeconds, seconds, span } from "../terminal/units.js";
import type { Check, Scene } from "./scene.js";
import { TtlGauge } from "./ttl-gauge.js";

const LOCK = "backup";
const WATCHDOG_MS = 3_000;
/** Well below the time that is left when a renewal fails. */
const COMMAND_TIMEOUT_MS = 1_000;
/** Long enough for one renewal. */
const LIFE_MS = 1_300;
const SAMPLE_MS = 400;
/** TTLs are whole milliseconds. */
const ROUNDING_MS = 2;
/** Generous, for a busy machine. */
const LATEST_MS = 5_000;

/** Nobody releases the lock of a holder that died: it falls when its TTL is over, and the next one enters. */
export const deadHolder: Scene = {
  title: "A holder that dies",
  intro:
    `A holds the lock, with a TTL of ${seconds(WATCHDOG_MS)}, and B waits for it. Then A is gone: no release, no ` +
    "message, no renewal any more. B has seen the TTL and comes back when it is over.",
  code: [
    'await holdfast.getLock("backup").using(async (lease) => {',
    "  await copyFiles({ signal: lease.signal }); // aborts when renewals fail",
    "});",
  ].join("\n"),

  async play(stage, screen) {
    const visit = { lock: LOCK, times: 1, pauseMs: 0 } as const;
    const tuning = { watchdogMs: WATCHDOG_MS, commandTimeoutMs: COMMAND_TIMEOUT_MS };
    const dying = stage.worker("A").start("visit", { ...visit, stayMs: "until told" }, { tuning });
    const { holder } = await dying.next("entered");
    const next = stage.worker("B").start("visit", { ...visit, stayMs: 0 });
    await next.next("asking");
    await sleep(LIFE_MS);
    const howItEnded = await stage.worker("A").kill();
    const goneMs = machineMs();
    const { ttlMs, holders } = await stage.observer.inspect(LOCK);
    screen.line(`  A is gone: ${howItEnded}. Its lock is not:`);
    const enteredMs = await watchUntilEntered(stage, screen, goneMs, next);
    const tookMs = enteredMs - goneMs;
    const told = stage.kind === "embedded" ? await survivorWasTold(dying, enteredMs) : [];
    await stage.replace("A");
    return {
      checks: [
        {
          says: `the lock outlived its holder: held by the dead one, with ${seconds(ttlMs)} to go`,
          holds: holders[0] === holder && ttlMs > 0,
        },
        {
          says: `B did not enter before the TTL was over: after ${exactSeconds(tookMs)} of ${exactSeconds(ttlMs)}`,
          holds: tookMs >= ttlMs - ROUNDING_MS,
        },
        {
          says: `B entered soon after, woken by its own timer: ${span(tookMs - ttlMs)} later`,
          holds: tookMs < ttlMs + LATEST_MS,
        },
        ...told,
      ],
      measured: `next entered after ${exactSeconds(tookMs)}, TTL was ${exactSeconds(ttlMs)}`,
    };
  },
};

/** @returns when the next one entered, on the machine's clock */
async function watchUntilEntered(
  stage: Stage,
  screen: Screen,
  goneMs: number,
  next: Job<boolean>,
): Promise<number> {
  const gauge = new TtlGauge(screen, WATCHDOG_MS);
  const entered = next.next("entered");
  let isIn = false;
  const enteredInTime = entered.then(() => {
    isIn = true;
  });
  // Told by the race below; until that is reached again, it is not unhandled.
  enteredInTime.catch(() => undefined);
  while (!isIn) {
    const { ttlMs } = await stage.observer.inspect(LOCK);
    if (!isIn) gauge.show(machineMs() - goneMs, ttlMs);
    await Promise.race([sleep(SAMPLE_MS), enteredInTime]);
  }
  await next.result;
  const { atMs } = await entered;
  gauge.remark("B", `enters, ${seconds(atMs - goneMs)} after A was gone`);
  return atMs;
}

/** A part of this process lives on without its connection, and must hear that its lease can not be trusted. */
async function survivorWasTold(dying: Job<boolean>, enteredMs: number): Promise<Check[]> {
  await dying.result;
  const [loss] = dying.all("lost");
  const earlierMs = loss === undefined ? 0 : enteredMs - loss.atMs;
  const when = loss === undefined ? "never" : `reason "${loss.reason}", ${span(earlierMs)} before B entered`;
  return [
    {
      says: `A, cut off but alive, was told by its signal: ${when}`,
      holds: loss !== undefined && earlierMs >= 0,
    },
  ];
}
