import { type About, type Planned, type Turn, VirtualTime } from "../world/virtual-time.js";
import { Footprint } from "./footprint.js";
import type { Order } from "./search.js";

/** What happens one after the other within one moment is so far apart for an observer, in microseconds. */
export const GLANCE_US = 1e-3;

/** What may happen: something arrives, or a timer is due. */
interface Event {
  readonly id: string;
  readonly about: About | undefined;
  readonly atUs: number;
  readonly order: number;
  readonly run: () => void;
  isOff: boolean;
}

/** What may happen besides: somebody does it to the world. */
export interface Deed {
  readonly id: string;
  readonly footprint: Footprint;
  act(): void;
}

/** How events are chosen. */
export interface Terms {
  readonly order: Order;
  /** How often a timer may fire while something is on its way. */
  readonly overtakes: number;
  /** Called when that happens. */
  overtaken(): void;
  /** What may be done to the world at this moment. */
  deeds(): readonly Deed[];
  /** Called after each event. @returns whether to go on */
  look(event: string): boolean;
}

/**
 * Time in which what is on its way takes as long as somebody chooses: what happens next is one of the heads of all queues, or
 * the earliest timer, and time moves only when a timer fires.
 */
export class ChosenTime extends VirtualTime {
  /** As this one, but no two events are at once: what an observer goes by. */
  readonly seen: VirtualTime;
  readonly #turn: Turn;
  readonly #servers: ReadonlySet<string>;
  /** By queue; what has no queue is alone in one. */
  readonly #arriving = new Map<string, Event[]>();
  #timers: Event[] = [];
  readonly #counts = new Map<string, number>();
  readonly #gone = new Set<string>();
  #planned = 0;
  #footprint = new Footprint();
  /** How many events have happened. */
  steps = 0;
  /** Whether a timer fired although something was on its way. */
  hasOvertaken = false;
  /** Where the event under way happens. */
  actor = "world";

  /** @param servers the actors of which an event need not touch all */
  constructor(turn: Turn, servers: readonly string[]) {
    super(turn);
    this.#turn = turn;
    this.#servers = new Set(servers);
    this.seen = new VirtualTime(turn);
  }

  override get isEmpty(): boolean {
    return this.#heads().length === 0 && this.#earliest().length === 0;
  }

  /** What the event under way touches. */
  get footprint(): Footprint {
    return this.#footprint;
  }

  override at(atUs: number, run: () => void, about?: About): Planned {
    const isTimer = about?.queue === undefined && atUs > this.nowUs;
    const line = about?.queue ?? `${about?.actor ?? "world"}${isTimer ? " timer" : ""}`;
    const nth = (this.#counts.get(line) ?? 0) + 1;
    this.#counts.set(line, nth);
    this.#planned += 1;
    const event: Event = {
      id: `${line} #${nth}`,
      about,
      atUs: isTimer ? Math.round(atUs) : this.nowUs,
      order: this.#planned,
      run,
      isOff: false,
    };
    // Two that plan for one actor number what they plan.
    if (about?.queue === undefined) this.#footprint.changes(`${line} count`);
    if (isTimer) this.#timers.push(event);
    else this.#append(about?.queue ?? event.id, event);
    return {
      cancel: () => {
        event.isOff = true;
      },
    };
  }

  /** Nothing reaches it any more. */
  forget(actor: string): void {
    this.#gone.add(actor);
  }

  /** In the plainest order: all that is on its way arrives before time moves. */
  override async pass(latestUs: number, until: () => boolean = () => false): Promise<void> {
    await this.#turn();
    while (!until()) {
      const event = this.#heads()[0] ?? this.#earliest()[0];
      if (event === undefined || event.atUs > latestUs) {
        if (latestUs < Number.POSITIVE_INFINITY) this.nowUs = Math.max(this.nowUs, latestUs);
        return;
      }
      await this.#happen(event);
    }
  }

  /** In an order of choice. @returns false when all that could follow was played before */
  async choose({ order, overtakes, overtaken, deeds, look }: Terms): Promise<boolean> {
    await this.#turn();
    let overtakesLeft = overtakes;
    for (;;) {
      const heads = this.#heads();
      const mayOvertake = heads.length === 0 || overtakesLeft > 0;
      const events = mayOvertake ? [...heads, ...this.#earliest()] : heads;
      const done = deeds();
      const chosen = order.choose([...events, ...done].map(({ id }) => id));
      if (chosen === undefined) return false;
      const event = events[chosen];
      const deed = done[chosen - events.length];
      if (event !== undefined) {
        if (heads.length > 0 && chosen >= heads.length) {
          overtakesLeft -= 1;
          this.hasOvertaken = true;
          overtaken();
        }
        await this.#happen(event);
      } else if (deed !== undefined) {
        this.#footprint = deed.footprint;
        this.#step();
        deed.act();
        await this.#turn();
      }
      const goesOn = look(event?.id ?? deed?.id ?? "");
      order.happened(this.#footprint);
      if (!goesOn) return true;
    }
  }

  async #happen(event: Event): Promise<void> {
    const { about } = event;
    const isTimer = this.#timers.includes(event);
    this.#footprint = new Footprint(isTimer || about === undefined);
    this.actor = about?.actor ?? "world";
    if (isTimer) this.#timers.splice(this.#timers.indexOf(event), 1);
    else this.#take(event);
    if (about !== undefined) this.#reach(about.actor);
    this.nowUs = Math.max(this.nowUs, event.atUs);
    this.#step();
    event.run();
    await this.#turn();
  }

  #step(): void {
    this.steps += 1;
    this.seen.nowUs = this.nowUs + this.steps * GLANCE_US;
  }

  /** A process is one thing; of a server only what the event uses, which it tells. */
  #reach(actor: string): void {
    if (this.#servers.has(actor)) return;
    this.#footprint.changes(actor);
  }

  #append(line: string, event: Event): void {
    if (event.about?.queue !== undefined) this.#footprint.changes(`${line} end`);
    const queue = this.#arriving.get(line);
    if (queue === undefined) this.#arriving.set(line, [event]);
    else queue.push(event);
  }

  #take(event: Event): void {
    const line = event.about?.queue ?? event.id;
    if (event.about?.queue !== undefined) this.#footprint.changes(`${line} front`);
    const queue = this.#arriving.get(line);
    queue?.splice(queue.indexOf(event), 1);
    if (queue?.length === 0) this.#arriving.delete(line);
  }

  /** The heads of all queues, in the order in which they were planned. */
  #heads(): Event[] {
    const heads: Event[] = [];
    for (const [line, queue] of this.#arriving) {
      const live = queue.filter((event) => this.#isLive(event));
      if (live[0] === undefined) this.#arriving.delete(line);
      else {
        heads.push(live[0]);
        if (live.length < queue.length) this.#arriving.set(line, live);
      }
    }
    return heads.sort((one, other) => one.order - other.order);
  }

  /** The earliest timer, with the first one of each other process that is due at the same time. */
  #earliest(): Event[] {
    this.#timers = this.#timers.filter((event) => this.#isLive(event));
    const atUs = Math.min(...this.#timers.map((event) => event.atUs));
    const due = this.#timers.filter((event) => event.atUs === atUs);
    return due.filter(
      (event, at) => due.findIndex(({ about }) => about?.actor === event.about?.actor) === at,
    );
  }

  #isLive({ isOff, about }: Event): boolean {
    return !isOff && about?.isLive?.() !== false && !(about !== undefined && this.#gone.has(about.actor));
  }
}
