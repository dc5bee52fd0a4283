import { machineMs } from "../machine-time.js";
import type { Report } from "../tasks/task.js";
import { seconds } from "../terminal/units.js";
import { watchLockPass } from "./after-loss.js";
import type { Scene } from "./scene.js";

const LOCK = "ledger";
const WATCHDOG_MS = 1_500;
/** What A and B want to write. */
const OF_A = 333;
const OF_B = 444;
/** In line with the bars of the gauge. */
const HANG = " ".repeat(11);

/** A process that stood still learns of its loss before it writes. Where it writes all the same, its token is refused. */
export const frozen: Scene = {
  name: "frozen",
  title: "A process that freezes",
  intro:
    `A has a fenced lock with a TTL of ${seconds(WATCHDOG_MS)} and is about to write when it is stopped (SIGSTOP), as by a ` +
    "laptop lid or a paused machine. Its timers stop as well, so nothing renews. B enters and writes. Then A runs on.",
  code: [
    'await holdfast.getFencedLock("ledger").using(async (lease) => {',
    "  lease.assertHeld(); // throws, though no timer has run since",
    "  await store.write(entry, lease.token); // smaller tokens are refused",
    "});",
  ].join("\n"),

  async play(stage, screen) {
    const a = await stage.process("A");
    const tuning = { watchdogMs: WATCHDOG_MS };
    const late = a.start("writeAwake", { lock: LOCK, left: OF_A }, { tuning });
    const { holder } = await late.next("entered");
    const { token: tokenOfA } = await late.next("token");
    const next = stage.worker("B").start("writeAwake", { lock: LOCK, left: OF_B }, { tuning });
    await next.next("asking");
    a.freeze();
    const goneMs = machineMs();
    screen.line(`  $ kill -STOP ${a.pid}`);
    const passed = await watchLockPass(stage, screen, {
      lock: LOCK,
      fullMs: WATCHDOG_MS,
      holder,
      goneMs,
      told: "A was stopped",
      next,
    });
    const { token: tokenOfB } = await next.next("token");
    const tell = (who: string, text: string) =>
      screen.line(`${HANG}${screen.paintFor(who, who)} ${text}`, `${HANG}  `);
    const told = ({ left, accepted }: { left: number; accepted: boolean }, token: number) =>
      `${left} with token ${token}: ${accepted ? "taken" : "refused"}`;
    next.goOn();
    tell("B", `writes ${told(await next.next("write"), tokenOfB)}`);
    // It reads this as soon as it runs again.
    late.goOn();
    const thawedMs = machineMs();
    a.thaw();
    screen.line(`  $ kill -CONT ${a.pid}`);
    const loss = await late.next("lost");
    tell("A", `assertHeld() throws ${loss.code}, reason "${loss.reason}"`);
    const write = await late.next("write");
    tell("A", `writes all the same, ${told(write, tokenOfA)}`);
    await Promise.all([late.result, next.result]);
    await stage.replace("A");
    const left = await stage.stock.read();
    const [first] = late.reports.filter(({ atMs, what }: Report) => atMs >= thawedMs && what !== "asking");
    return {
      checks: [
        ...passed.checks,
        {
          says: `A, awake again, was told before it could write: ${loss.code}`,
          holds: first?.what === "lost" && loss.code === "ERR_HOLDFAST_LEASE_LOST" && loss.atMs <= write.atMs,
        },
        {
          says: `B's token ${tokenOfB} is greater than A's ${tokenOfA}, and A's was refused`,
          holds: tokenOfB > tokenOfA && !write.accepted,
        },
        { says: `the store has ${left}, as B has written`, holds: left === OF_B },
      ],
      measured: `told on waking, token ${tokenOfA} refused after ${tokenOfB}`,
    };
  },
};
