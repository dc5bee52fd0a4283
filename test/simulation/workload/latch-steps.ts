import type { CountDownLatch } from "../../../src/synchronizers/count-down-latch.js";
import { LatchWatch } from "../checker/latches.js";
import { oneIn, pick } from "../draw.js";
import { inspectCount } from "./ask-count.js";
import type { Caller } from "./caller.js";
import { plainCall, waitOptions, wordsOf } from "./count-calls.js";
import type { Family } from "./family.js";

/** One task at one latch. */
interface Visit {
  readonly caller: Caller;
  readonly latch: CountDownLatch;
  readonly watch: LatchWatch;
}

const FORMS = ["count down", "await", "count down", "await", "close", "all", "look", "delete"] as const;

/** Latches, which are closed again once they are open. */
export const latches: Family = {
  kinds: ["latch"],
  heldKeys: () => [],
  watch: (parts) => new LatchWatch(parts),
  async step(caller, { name }) {
    const watch = caller.scene.watchOf(name, LatchWatch);
    const latch = caller.member.holdfast.getCountDownLatch(name);
    const visit: Visit = { caller, latch, watch };
    if (watch.isFirstVisit(caller.member)) await close(visit);
    await STEPS[pick(caller.stream, FORMS)](visit);
  },
};

const STEPS: Readonly<Record<(typeof FORMS)[number], (visit: Visit) => Promise<void>>> = {
  "count down": countDown,
  await: wait,
  close,
  all,
  look,
  delete: open,
};

async function close({ caller, latch, watch }: Visit): Promise<void> {
  const { name, size } = watch;
  const became = await plainCall(caller, `trySetCount ${size} of "${name}"`, () => latch.trySetCount(size));
  if (became.ok) watch.told(caller, became.sinceUs, "count-try-set", became.value ? "set" : "kept");
}

async function countDown({ caller, latch, watch }: Visit): Promise<void> {
  const account = watch.countsDown(caller.member);
  const became = await plainCall(caller, `countDown of "${watch.name}"`, () => latch.countDown());
  if (became.ok) {
    account.told += 1;
    watch.told(caller, became.sinceUs, "latch-count-down", "counted");
  } else if (!became.isUnknown) account.refused += 1;
}

async function wait({ caller, latch, watch }: Visit): Promise<void> {
  const options = waitOptions(caller, 2);
  const { waitMs, signal } = options;
  const what = `await "${watch.name}" ${wordsOf(options)}`;
  const awaiting = watch.awaits(`${caller.name}: ${what}`, caller.member);
  const longestMs = waitMs ?? Number.POSITIVE_INFINITY;
  const asked = { what, names: [watch.name], waitMs: longestMs, signal };
  const became = await caller.call(asked, () => latch.await(options));
  caller.say(`${what}: ${became.ok ? became.value : "failed"}`);
  watch.awaited(awaiting, became.ok ? became.value : undefined, waitMs);
}

/** One counts down as often as is needed, while another waits. */
async function all(visit: Visit): Promise<void> {
  const counts = Array.from({ length: visit.watch.size }, () => countDown(visit));
  await Promise.all([wait(visit), ...counts]);
  await close(visit);
}

async function look({ caller, latch, watch }: Visit): Promise<void> {
  if (oneIn(caller.tools, 3)) return inspectCount(caller, watch);
  const became = await plainCall(caller, `getCount of "${watch.name}"`, () => latch.getCount());
  if (became.ok) watch.told(caller, became.sinceUs, "count-look", "count", became.value);
}

async function open(visit: Visit): Promise<void> {
  const { caller, latch, watch } = visit;
  if (!watch.isMortal) return countDown(visit);
  const became = await plainCall(caller, `delete "${watch.name}"`, () => latch.delete());
  if (became.ok) watch.told(caller, became.sinceUs, "count-delete", became.value ? "deleted" : "absent");
}
