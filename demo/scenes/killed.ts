import { setTimeout as sleep } from "node:timers/promises";
import { machineMs } from "../machine-time.js";
import { seconds } from "../terminal/units.js";
import { watchLockPass } from "./after-loss.js";
import type { Scene } from "./scene.js";

const LOCK = "deploy";
/** Instead of 30 s, so that one can watch it. */
const WATCHDOG_MS = 2_000;
/** Long enough for one renewal. */
const LIFE_MS = 900;

/** A dead process releases nothing: its lock ends with its TTL, and the next one enters. */
export const killed: Scene = {
  name: "killed",
  title: "kill -9 to the holder",
  intro:
    `A is a process of its own. It holds the lock, with a TTL of ${seconds(WATCHDOG_MS)} (default: 30 s), and renews it. ` +
    "B waits. Then A gets kill -9: no release, no message, no renewal any more.",
  code: [
    'await holdfast.using("deploy", async () => {',
    "  await deploy(); // kill -9 here: the lock ends with its TTL",
    "});",
  ].join("\n"),

  async play(stage, screen) {
    const a = await stage.process("A");
    const visit = { lock: LOCK, times: 1, pauseMs: 0 } as const;
    const tuning = { watchdogMs: WATCHDOG_MS };
    const dying = a.start("visit", { ...visit, stayMs: "until told" }, { tuning });
    const { holder } = await dying.next("entered");
    const next = stage.worker("B").start("visit", { ...visit, stayMs: 0 });
    await next.next("asking");
    await sleep(LIFE_MS);
    const signal = await a.kill();
    const goneMs = machineMs();
    screen.line(`  $ kill -9 ${a.pid}`);
    const passed = await watchLockPass(stage, screen, {
      lock: LOCK,
      fullMs: WATCHDOG_MS,
      holder,
      goneMs,
      told: "A was killed",
      next,
    });
    await next.result;
    await stage.replace("A");
    return {
      checks: [
        { says: `process ${a.pid} was ended by ${signal}`, holds: signal === "SIGKILL" },
        ...passed.checks,
      ],
      measured: passed.measured,
    };
  },
};
