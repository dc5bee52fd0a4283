import type { Report } from "../tasks/task.js";
import { LiveLog } from "../terminal/live-log.js";
import { seconds, span } from "../terminal/units.js";
import type { Scene } from "./scene.js";
import { VisitLog } from "./visit-log.js";

const LOCK = "report";
const LEASE_MS = 1_000;
const STEPS = 8;
const STEP_MS = 250;

/** A lease that nobody renews ends while the work goes on: the work is stopped, and the late release refused. */
export const fixedLease: Scene = {
  name: "fixed-lease",
  title: "A fixed lease, too short",
  intro:
    `With leaseMs nobody renews. A has work for ${seconds(STEPS * STEP_MS)} and a lease of ${seconds(LEASE_MS)}. ` +
    "Its signal aborts just before somebody else may enter, which stops the work; B waits for the lock.",
  code: [
    "const lease = await lock.lock({ leaseMs: 1_000 });",
    "await work({ signal: lease.signal }); // stops when the lease ends",
    "await lease.unlock(); // rejects when it has ended: ERR_HOLDFAST_NOT_HELD",
  ].join("\n"),

  async play(stage, screen) {
    const log = new LiveLog(screen);
    const visits = new VisitLog(log);
    const hear = visits.listenerFor("A");
    const onReport = (report: Report) => {
      hear(report);
      if (report.what === "step") log.add("A", `step ${report.step} of ${STEPS} done`, report.atMs);
      if (report.what === "refused") log.add("A", `unlock() is refused: ${report.code}`, report.atMs);
    };
    const input = { lock: LOCK, leaseMs: LEASE_MS, steps: STEPS, stepMs: STEP_MS } as const;
    const overrun = stage.worker("A").start("overrun", input, { onReport });
    const entered = await overrun.next("entered");
    const rival = stage
      .worker("B")
      .start("visit", { lock: LOCK, times: 1, stayMs: 0, pauseMs: 0 }, { onReport: visits.listenerFor("B") });
    const stepsDone = await overrun.result;
    const rivalEntered = await rival.next("entered");
    await rival.result;
    log.close();
    const [loss] = overrun.all("lost");
    const [refusal] = overrun.all("refused");
    screen.line();
    screen.line(`  ${screen.paint("red", refusal?.code ?? "no refusal")}: ${refusal?.message ?? ""}`);
    const trustedMs = entered.trustedUntilMs - entered.atMs;
    return {
      checks: [
        {
          says: `the signal aborted: ${loss?.code}, reason "${loss?.reason}", ${span((loss?.atMs ?? 0) - entered.atMs)} after A entered`,
          holds: loss?.code === "ERR_HOLDFAST_LEASE_LOST" && loss.reason === "expired",
        },
        {
          says: `the work stopped there: ${stepsDone} of ${STEPS} steps done, none after the signal`,
          holds: stepsDone < STEPS && overrun.all("step").every(({ atMs }) => atMs <= (loss?.atMs ?? 0)),
        },
        {
          says: `unlock() was refused with ${refusal?.code}`,
          holds: refusal?.code === "ERR_HOLDFAST_NOT_HELD",
        },
        {
          says: `B did not enter while A might trust its lease, ${seconds(trustedMs)}, but after ${seconds(rivalEntered.atMs - entered.atMs)}`,
          holds: rivalEntered.atMs >= entered.trustedUntilMs,
        },
      ],
      measured: `${stepsDone} of ${STEPS} steps done, then ${refusal?.code}`,
    };
  },
};
