import type { Stage } from "../stage/stage.js";
import { LiveLog } from "../terminal/live-log.js";
import type { Scene } from "./scene.js";

const LOCK = "account";

/** What runs inside the lock may take the lock again; strangers may not. */
export const reEntry: Scene = {
  name: "re-entry",
  title: "Entering again",
  intro:
    "A's transfer() takes the lock and calls deposit(), which takes the same lock: it enters at once, and the " +
    "server counts the holds. B, a stranger, tries after each step.",
  code: [
    'const lock = holdfast.getLock("account");',
    "const deposit = () => lock.using(book);",
    "const transfer = () => lock.using(() => deposit()); // no deadlock",
  ].join("\n"),

  async play(stage, screen) {
    const log = new LiveLog(screen);
    const looks: Look[] = [];
    const look = async (where: string) => {
      const seen = await lookAt(stage);
      looks.push(seen);
      log.add("A", `${where}; the server counts ${seen.holdCount}`);
      log.add("B", `tryLock(): ${seen.strangerCameIn ? "enters, and leaves" : "null"}`);
    };
    const job = stage.worker("A").start("reEnter", { lock: LOCK });
    const outer = await job.next("entered");
    await look("enters in transfer()");
    job.goOn();
    const inner = await job.next("entered");
    await look("enters again in deposit()");
    job.goOn();
    await job.next("leaving");
    await look("is back in transfer()");
    job.goOn();
    await job.result;
    await look("has left");
    log.close();
    const counts = looks.map(({ holdCount }) => holdCount);
    const admitted = looks.filter(({ strangerCameIn }) => strangerCameIn).map(({ holdCount }) => holdCount);
    const entries = looks.map(({ strangerCameIn }) => strangerCameIn);
    return {
      checks: [
        {
          says: `the leases say how deep they are, ${outer.holdCount} and ${inner.holdCount}, and have one holder`,
          holds: outer.holdCount === 1 && inner.holdCount === 2 && outer.holder === inner.holder,
        },
        { says: `the server counted the holds: ${counts.join(", ")}`, holds: `${counts}` === "1,2,1,0" },
        {
          says: `B was refused ${entries.filter((cameIn) => !cameIn).length} times, and came in once A had left`,
          holds: `${entries}` === "false,false,false,true",
        },
      ],
      measured: `hold counts ${counts.join(", ")}; stranger came in at ${admitted}`,
    };
  },
};

interface Look {
  readonly holdCount: number;
  readonly strangerCameIn: boolean;
}

async function lookAt(stage: Stage): Promise<Look> {
  const { holdCounts } = await stage.observer.inspect(LOCK);
  const holdCount = Object.values(holdCounts).reduce((sum, count) => sum + count, 0);
  return { holdCount, strangerCameIn: await stage.worker("B").start("lookIn", { lock: LOCK }).result };
}
