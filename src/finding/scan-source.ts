import type { Client } from "../client.js";
import { UnavailableError } from "../errors.js";
import { findHashes, type ScanPlace, type ScanStep } from "../protocol/finding-scripts.js";
import type { Patience } from "../runtime/patience.js";

/** How many keys a server reads in one step, which takes a fraction of a millisecond. */
const KEYS_A_STEP = 200;
/** 50 steps a second. */
const STEP_EACH_MS = 20;

const DONE = "0";

/** Reads the keys of all servers, at a measured pace. */
export class Scan {
  readonly #client: Client;
  readonly #patience: Patience;
  /** About how many keys the scan may still read. */
  #left: number;
  #places: readonly ScanPlace[] = [];
  #nextMs = Number.NEGATIVE_INFINITY;
  /** How many keys the scan has met whose names are not UTF-8. */
  unreadable = 0;

  constructor(client: Client, maxKeys: number, patience: Patience) {
    this.#client = client;
    this.#left = maxKeys;
    this.#patience = patience;
  }

  get isOver(): boolean {
    return this.#left <= 0 || (this.#places.length > 0 && this.#places.every(isDone));
  }

  /** How long to wait before the next step. */
  get pauseMs(): number {
    return Math.max(0, this.#nextMs - this.#client.clock.monotonicMs());
  }

  /** The keys of the hashes that the next step finds, in no order. A key may repeat. */
  async step(): Promise<readonly string[]> {
    const { commands, clock } = this.#client;
    this.#nextMs = clock.monotonicMs() + STEP_EACH_MS;
    const input = { count: Math.min(KEYS_A_STEP, this.#left), places: this.#places };
    const { reply } = await commands.exchange(findHashes, "", () => input, this.#patience);
    this.#check(reply);
    this.#assertAllThere(reply);
    const wereDone = new Set(this.#places.filter(isDone).map(({ runId }) => runId));
    this.#left -= input.count * reply.filter(({ runId }) => !wereDone.has(runId)).length;
    this.#places = reply.map(({ runId, cursor }) => ({ runId, cursor }));
    for (const { unreadable } of reply) this.unreadable += unreadable;
    return reply.flatMap(({ keys }) => keys);
  }

  /** Of several servers, each must report its own run id. Otherwise a server could get the cursor of another server. */
  #check(steps: readonly ScanStep[]): void {
    if (new Set(steps.map(({ runId }) => runId)).size === steps.length) return;
    const { server } = this.#client.commands;
    const why =
      "a scan of a cluster needs the right to run INFO, which tells its masters apart (docs/guide/servers.md)";
    throw new UnavailableError(server, why, false);
  }

  /** The keys of a server that is gone cannot be read any more, and their new server may have been scanned before. */
  #assertAllThere(steps: readonly ScanStep[]): void {
    const there = new Set(steps.map(({ runId }) => runId));
    if (this.#places.every((place) => isDone(place) || there.has(place.runId))) return;
    const { server } = this.#client.commands;
    const why = "a server has failed, restarted or was replaced during the scan: search again";
    throw new UnavailableError(server, why, false);
  }
}

function isDone({ cursor }: ScanPlace): boolean {
  return cursor === DONE;
}
