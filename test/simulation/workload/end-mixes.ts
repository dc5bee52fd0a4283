import { between, oneIn, pick } from "../draw.js";
import type { Distance } from "../world/wire.js";
import type { Caller } from "./caller.js";
import type { Shared } from "./family.js";
import { type LockName, openDoor } from "./lock-names.js";
import { hold } from "./lock-steps.js";
import type { Mix } from "./mixes.js";

const NEAR: Distance = { leastUs: 100, spreadUs: 200 };

/** What is about the ends of leases: fixed ones that are set anew, and locks that are kept after their release. */
export const endMixes: readonly Mix[] = [
  {
    name: "ends amid late copies",
    weight: 2,
    kinds: ["lock", "non-reentrant", "spin", "fenced", "fair", "read-write"],
    processes: [1, 3],
    tasks: [1, 2],
    faults: { sorts: ["late copy", "answers lost", "half-open", "slow requests"], oneIn: 6 },
    plan: (stream) => ({
      distance: NEAR,
      watchdogMs: pick(stream, [3_000, 1_000]),
      commandTimeoutMs: pick(stream, [400, 200, 1_000]),
      safetyPeriodMs: 1_000,
    }),
    work: holdToTheEnd,
  },
];

/** Has a lock by a lease that is mostly fixed, again and again. */
async function holdToTheEnd(caller: Caller, shared: Shared): Promise<void> {
  const { stream, member } = caller;
  const { commandTimeoutMs } = member.plan.options;
  for (let left = between(stream, 2, 5); left > 0; left -= 1) {
    await caller.pause(pick(stream, [1, 0, 20, 200]));
    const door = openDoor(member, shared as LockName, oneIn(stream, 2) ? "write" : "read");
    const leaseMs = oneIn(stream, 6) ? undefined : commandTimeoutMs * pick(stream, [2, 1]);
    const half = door.mode === "shared" ? " (read)" : "";
    const asked = {
      what: `lock ${door.kind} "${door.name}"${half}, leaseMs ${leaseMs}`,
      names: door.members,
      waitMs: Number.POSITIVE_INFINITY,
      leaseMs,
      reads: door.mode === "shared",
    };
    const became = await caller.call({ ...asked, isAlone: true }, () => door.lock.lock({ leaseMs }));
    if (became.ok) await hold(caller, door, became.value, { asked, options: { leaseMs } });
  }
}
