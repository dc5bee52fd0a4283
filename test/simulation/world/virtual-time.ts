/** Something that happens at a moment of the virtual time. */
interface Happening {
  readonly atUs: number;
  /** Among those of one moment the one that was planned first comes first. */
  readonly order: number;
  readonly run: () => void;
  cancelled: boolean;
  readonly isLive: (() => boolean) | undefined;
}

/** What a happening is about, for a search through all orders: without one it may touch everything. */
export interface About {
  /** The process that it reaches, or the server that it runs at. */
  readonly actor: string;
  /** It comes after all that was planned before for this queue, whatever time that takes. */
  readonly queue?: string;
  /** Whether it still does anything. */
  readonly isLive?: () => boolean;
}

/** A happening that may still be taken back. */
export interface Planned {
  cancel(): void;
}

/** So many things may happen at one moment. */
const MOST_IN_A_ROW = 5_000;

/** Lets all promises settle: nothing of the real event loop but this is used during a run. */
export type Turn = () => Promise<void>;

/**
 * The one axis of time of a run, in whole microseconds, which no process and no server sees. What happens does so one after the
 * other; between two happenings all promises settle.
 */
export class VirtualTime {
  nowUs = 0;
  readonly #turn: Turn;
  readonly #heap: Happening[] = [];
  #planned = 0;
  #inARow = 0;

  constructor(turn: Turn) {
    this.#turn = turn;
  }

  get isEmpty(): boolean {
    return this.#heap.length === 0;
  }

  /** Plans what happens `afterUs` from now, or now if that is negative, and then after all that was planned before for that moment. */
  after(afterUs: number, run: () => void, about?: About): Planned {
    return this.at(this.nowUs + afterUs, run, about);
  }

  at(atUs: number, run: () => void, about?: About): Planned {
    const happening = {
      atUs: Math.max(Math.round(atUs), this.nowUs),
      order: this.#planned,
      run,
      cancelled: false,
      isLive: about?.isLive,
    };
    this.#planned += 1;
    push(this.#heap, happening);
    return {
      cancel: () => {
        happening.cancelled = true;
      },
    };
  }

  /**
   * Lets time pass until nothing is planned any more, `until` answers true between two happenings, or the moment `latestUs` is
   * reached, which it then is.
   */
  async pass(latestUs: number, until: () => boolean = () => false): Promise<void> {
    await this.#turn();
    while (!until()) {
      const next = this.#next(latestUs);
      if (next === undefined) {
        if (latestUs < Number.POSITIVE_INFINITY) this.nowUs = Math.max(this.nowUs, latestUs);
        return;
      }
      this.#standsStill(next.atUs);
      this.nowUs = next.atUs;
      next.run();
      await this.#turn();
    }
  }

  /** A loop that waits for nothing would go on for ever. */
  #standsStill(nextUs: number): void {
    this.#inARow = nextUs > this.nowUs ? 0 : this.#inARow + 1;
    if (this.#inARow > MOST_IN_A_ROW) throw new Error(`${MOST_IN_A_ROW} things happen while no time passes`);
  }

  #next(latestUs: number): Happening | undefined {
    for (;;) {
      const [first] = this.#heap;
      if (first === undefined) return undefined;
      // What does nothing any more, such as a timer that was cancelled, needs no turn of the event loop.
      const isOver = first.cancelled || first.isLive?.() === false;
      if (!isOver && first.atUs > latestUs) return undefined;
      pop(this.#heap);
      if (!isOver) return first;
    }
  }
}

function isBefore(one: Happening, other: Happening): boolean {
  return one.atUs === other.atUs ? one.order < other.order : one.atUs < other.atUs;
}

/** A binary heap: the earliest is at the front. */
function push(heap: Happening[], happening: Happening): void {
  let at = heap.length;
  heap.push(happening);
  while (at > 0) {
    const above = (at - 1) >> 1;
    const parent = heap[above];
    if (parent === undefined || isBefore(parent, happening)) break;
    heap[at] = parent;
    at = above;
  }
  heap[at] = happening;
}

function pop(heap: Happening[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let at = 0;
  for (;;) {
    let below = 2 * at + 1;
    let child = heap[below];
    const other = heap[below + 1];
    if (child === undefined) break;
    if (other !== undefined && isBefore(other, child)) {
      below += 1;
      child = other;
    }
    if (isBefore(last, child)) break;
    heap[at] = child;
    at = below;
  }
  heap[at] = last;
}
