import { checkFlag, checkObject, known, refuseUnknown, shown } from "../checks.js";
import { systemClock } from "../clock.js";
import type { Holdfast } from "../index.js";
import { beginFire, beginOnce, fireOf, REMEMBERED_MS } from "./fires.js";

/**
 * The coordinator of node-cron, from 4.5 on. For a task with `distributed: true`, node-cron asks it before each fire, and tells it when the
 * fire has ended.
 */
export interface RunCoordinator {
  /** @param key the name of the task and the time of the fire, for example `nightly:2026-11-27T02:00:00.000Z` */
  shouldRun(key: string, ttlMs: number): Promise<boolean>;
  onComplete(key: string): Promise<void>;
}

/** How to coordinate a fleet's tasks of node-cron. */
export interface CronCoordinatorOptions {
  /** The prefix of the locks' names, before the name of the task. Default: `cron:`. */
  readonly prefix?: string | undefined;
  /**
   * Whether a fire may begin while an earlier one of the same task still runs somewhere in the fleet. `false`: it is skipped. A lock is
   * held while the task runs, even while the client closes with `graceMs`. node-cron cannot tell a task that its lock is lost: `onComplete`
   * then rejects, which node-cron logs. Default: `true`.
   */
  readonly overlap?: boolean | undefined;
}

const OPTIONS = known<CronCoordinatorOptions>("option", "cronCoordinator", { prefix: true, overlap: true });

/** A time in the form of `Date.toISOString`, behind the name of the task and a colon. */
const FIRE = /^(.+):(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)$/;

/**
 * Lets each fire of a task of node-cron begin in one process of a fleet, whatever their clocks say. If Redis does not answer, `shouldRun`
 * rejects, and node-cron skips the fire with the event `execution:skipped`.
 *
 * @example
 * cron.setRunCoordinator(cronCoordinator(holdfast));
 * cron.schedule("0 2 * * *", report, { name: "nightly", distributed: true });
 * @throws TypeError
 * @see docs/guide/recipes.md
 */
export function cronCoordinator(holdfast: Holdfast, options: CronCoordinatorOptions = {}): RunCoordinator {
  checkObject("options", options, "{ overlap: false }");
  const { prefix = "cron:", overlap = true, ...unknown } = options;
  refuseUnknown(OPTIONS, unknown);
  if (typeof prefix !== "string") throw new TypeError(`prefix must be a string, got ${shown(prefix)}`);
  checkFlag("overlap", overlap);
  const running = new Map<string, { readonly end: () => void; readonly held: Promise<unknown> }>();

  const begin = (key: string) => {
    const [, task = key, fireTime] = FIRE.exec(key) ?? [];
    if (fireTime === undefined) return beginOnce(holdfast, prefix + key, "", REMEMBERED_MS);
    // biome-ignore lint/style/noRestrictedGlobals: it reads a text, and no clock.
    return beginFire(holdfast, fireOf(prefix + task, Date.parse(fireTime), systemClock));
  };
  /** Holds the lock of a task in a body until the task has ended. A closing client waits for this body. */
  const beginAlone = (key: string) =>
    new Promise<boolean>((resolve, reject) => {
      const lock = holdfast.getLock(prefix + (FIRE.exec(key)?.[1] ?? key));
      const run = async () => {
        if (!(await begin(key))) return false;
        const ended = new Promise<void>((end) => running.set(key, { end, held }));
        resolve(true);
        await ended;
        return true;
      };
      const held: Promise<unknown> = holdfast
        .outside(() => lock.tryUsing(run))
        .then(
          ({ value = false }) => resolve(value),
          (error: unknown) => {
            reject(error);
            throw error;
          },
        );
      // If `onComplete` is called later, it reports the loss.
      held.catch(() => undefined);
    });
  return {
    shouldRun: async (key) => (overlap ? begin(key) : beginAlone(key)),
    async onComplete(key) {
      const run = running.get(key);
      running.delete(key);
      run?.end();
      await run?.held;
    },
  };
}
