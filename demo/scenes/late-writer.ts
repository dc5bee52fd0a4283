import type { Report } from "../tasks/task.js";
import { LiveLog } from "../terminal/live-log.js";
import { seconds } from "../terminal/units.js";
import type { Scene } from "./scene.js";
import { VisitLog } from "./visit-log.js";

const LOCK = "ledger";
const LEASE_MS = 600;
const STALL_MS = 1_800;
/** What A and B want to write. */
const OF_A = 111;
const OF_B = 222;

/** A writer that comes too late has a smaller token than the one before it, and the store refuses it. */
export const lateWriter: Scene = {
  name: "late-writer",
  title: "A writer that comes too late",
  intro:
    `A takes a fenced lock for ${seconds(LEASE_MS)}, stalls for ${seconds(STALL_MS)} and then writes without a look at its ` +
    "lease. Meanwhile B has the lock and writes. Each lease has a token, greater than all before it; the store keeps the " +
    "greatest that it has seen and refuses smaller ones.",
  code: [
    'const lease = await holdfast.getFencedLock("ledger").lock({ leaseMs: 600 });',
    "await store.write(entry, lease.token); // smaller tokens are refused",
  ].join("\n"),

  async play(stage, screen) {
    const log = new LiveLog(screen);
    const visits = new VisitLog(log);
    const listenerFor = (name: string) => {
      const hear = visits.listenerFor(name);
      return (report: Report) => {
        hear(report);
        if (report.what === "token") log.add(name, `its token is ${report.token}`, report.atMs);
        if (report.what === "write") {
          log.add(name, `writes ${report.left}: ${report.accepted ? "taken" : "refused"}`, report.atMs);
        }
        if (report.what === "refused") log.add(name, `unlock() is refused: ${report.code}`, report.atMs);
      };
    };
    const late = stage
      .worker("A")
      .start(
        "writeLate",
        { lock: LOCK, leaseMs: LEASE_MS, stallMs: STALL_MS, left: OF_A },
        { onReport: listenerFor("A") },
      );
    const { token: tokenOfA } = await late.next("token");
    const next = stage
      .worker("B")
      .start(
        "writeLate",
        { lock: LOCK, leaseMs: 10 * LEASE_MS, stallMs: 0, left: OF_B },
        { onReport: listenerFor("B") },
      );
    const { token: tokenOfB } = await next.next("token");
    const writtenByB = await next.result;
    const writtenByA = await late.result;
    const left = await stage.stock.read();
    log.close();
    return {
      checks: [
        { says: `B's token ${tokenOfB} is greater than A's ${tokenOfA}`, holds: tokenOfB > tokenOfA },
        {
          says: `B's write was ${writtenByB ? "taken" : "refused"}, A's late one was ${writtenByA ? "taken" : "refused"}`,
          holds: writtenByB && !writtenByA,
        },
        { says: `the store has ${left}, as B has written`, holds: left === OF_B },
      ],
      measured: `token ${tokenOfA} refused after token ${tokenOfB}`,
    };
  },
};
