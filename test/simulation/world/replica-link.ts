import type { SimServer } from "./sim-server.js";
import type { VirtualTime } from "./virtual-time.js";

/** How fast a replica follows. */
export interface Pace {
  /** How long after the master it has a write. */
  lagUs: number;
  /** How long its acknowledgement takes from then on. */
  readonly ackUs: number;
}

/** The way from a master to one replica: what was written arrives there in order, its acknowledgement comes back. */
export class ReplicaLink {
  readonly master: SimServer;
  readonly replica: SimServer;
  readonly pace: Pace;
  /** How much of the master's writes it has, as far as the master knows. */
  acknowledged: number;
  /** The replica stands still, and so takes nothing over; its master does not notice. */
  isStopped = false;
  readonly #time: VirtualTime;
  /** When the latest write arrives. */
  #lastUs = 0;
  /** The latest state that has arrived while it stood still. */
  #late: (() => void) | undefined;
  #isOver = false;

  /** The replica begins with all that its master has. */
  constructor(time: VirtualTime, master: SimServer, replica: SimServer, pace: Pace) {
    this.#time = time;
    this.master = master;
    this.replica = replica;
    this.pace = pace;
    replica.become(master.copy(), master.offset);
    replica.isReadOnly = true;
    this.acknowledged = master.offset;
    master.replicas.add(this);
  }

  /** Whether the replica has all that its master has. */
  get isComplete(): boolean {
    return this.replica.offset >= this.master.offset;
  }

  /** The master has written. */
  wrote(): void {
    const state = this.master.copy();
    const { offset } = this.master;
    this.#lastUs = Math.max(this.#lastUs, this.#time.nowUs + this.pace.lagUs);
    this.#time.at(this.#lastUs, () => this.#arrive(() => this.#take(state, offset)));
  }

  stop(forUs: number): void {
    this.isStopped = true;
    this.#time.after(forUs, () => {
      this.isStopped = false;
      const late = this.#late;
      this.#late = undefined;
      late?.();
    });
  }

  /** The replica no longer follows. What is on its way does not arrive. */
  end(): void {
    this.#isOver = true;
    this.master.replicas.delete(this);
  }

  #arrive(take: () => void): void {
    if (this.isStopped) this.#late = take;
    else take();
  }

  #take(state: ReturnType<SimServer["copy"]>, offset: number): void {
    if (this.#isOver) return;
    this.replica.become(state, offset);
    this.#time.after(this.pace.ackUs, () => {
      if (this.#isOver) return;
      this.acknowledged = offset;
      this.master.acknowledged();
    });
  }
}
