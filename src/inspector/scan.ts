import { types } from "node:util";
import type { Holdfast } from "../index.js";
import { inRootContext } from "../root-context.js";
import type { InspectorSettings } from "./inspector-options.js";
import type { Picture } from "./picture.js";

const TOLD_EACH_MS = 1_000;
/** How many of the found keys are kept. */
const MOST_FOUND = 1_000;
/** About this many keys are read: 50 steps a second of 200 each. */
const MOST_KEYS = 1_000_000;

/** The search through all keys, at most one at a time. */
export class Scanning {
  readonly #holdfast: Holdfast;
  readonly #group: string | undefined;
  readonly #picture: Picture;
  readonly #progressed: () => void;
  #running: AbortController | undefined;

  /** @param progressed is called when the scan has found something, and at its end */
  constructor(
    holdfast: Holdfast,
    { group }: Pick<InspectorSettings, "group">,
    picture: Picture,
    progressed: () => void,
  ) {
    this.#holdfast = holdfast;
    this.#group = group;
    this.#picture = picture;
    this.#progressed = progressed;
  }

  /** @returns false when a scan is running */
  start(): boolean {
    if (this.#running !== undefined) return false;
    const running = new AbortController();
    this.#running = running;
    void inRootContext(() => this.#run(running.signal));
    return true;
  }

  /** Does nothing when no scan runs. */
  stop(): void {
    this.#running?.abort(new Error("no page is open any more"));
  }

  async #run(signal: AbortSignal): Promise<void> {
    const startedMs = this.#picture.nowMs;
    let found = 0;
    let toldMs = startedMs;
    const tell = (state: "running" | "done" | "failed", reason: string | null = null) => {
      this.#picture.scan = { state, startedMs, found, reason };
      toldMs = this.#picture.nowMs;
      this.#progressed();
    };
    tell("running");
    try {
      const group = this.#group === undefined ? {} : { group: this.#group };
      const search = this.#holdfast.locks({
        sources: ["scan"],
        limit: MOST_FOUND,
        maxKeys: MOST_KEYS,
        signal,
        ...group,
      });
      for await (const lock of search) {
        found += 1;
        this.#picture.found({
          ...lock,
          flags: lock.ttlMs === -1 && lock.holders.length > 0 ? ["no-ttl"] : [],
        });
        if (this.#picture.nowMs - toldMs >= TOLD_EACH_MS) tell("running");
      }
      tell("done", found === MOST_FOUND ? `only the first ${MOST_FOUND} locks are listed` : null);
    } catch (error) {
      tell("failed", types.isNativeError(error) ? error.message : String(error));
    } finally {
      this.#running = undefined;
    }
  }
}
