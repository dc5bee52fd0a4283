import type { Stream } from "../chooser/chooser.js";
import type { About, Planned, VirtualTime } from "./virtual-time.js";

/** How far a server is from a process: what one way takes at least, and what the unlucky ones take on top. */
export interface Distance {
  readonly leastUs: number;
  readonly spreadUs: number;
}

/** What a connection is called, among all of a run, and what it connects. */
export interface Ends {
  readonly name: string;
  readonly process: string;
  readonly server: string;
}

interface InTransit {
  readonly arrive: () => void;
  atUs: number;
  planned: Planned;
}

/** One way of a connection: what is sent on it arrives in order. */
class Way {
  readonly #time: VirtualTime;
  /** What is on its way, in order. */
  readonly #inTransit: InTransit[] = [];
  readonly #about: About;
  #lastUs = 0;

  constructor(time: VirtualTime, about: About) {
    this.#time = time;
    this.#about = about;
  }

  get underWay(): number {
    return this.#inTransit.length;
  }

  send(atUs: number, arrive: () => void): void {
    this.#lastUs = Math.max(this.#lastUs, atUs);
    const item: InTransit = { arrive, atUs: this.#lastUs, planned: NOTHING };
    this.#inTransit.push(item);
    item.planned = this.#time.at(this.#lastUs, () => this.#arrive(item), this.#about);
  }

  /**
   * What is on its way is late by so much, and all that follows with it.
   * @returns how long from now until the last of it is there: a process whose code was stopped may have sent that in time to come
   */
  hold(us: number): number {
    this.#lastUs += us;
    for (const item of this.#inTransit) {
      item.planned.cancel();
      item.atUs = this.#lastUs;
      item.planned = this.#time.at(this.#lastUs, () => this.#arrive(item), this.#about);
    }
    return Math.max(us, this.#lastUs - this.#time.nowUs);
  }

  /** Of what is on its way only the first ones arrive; the others do so after `lateUs`, or never. */
  cut(first: number, lateUs: number | undefined): void {
    for (const { planned, arrive } of this.#inTransit.splice(first)) {
      planned.cancel();
      if (lateUs !== undefined) this.#time.after(lateUs, arrive, { actor: this.#about.actor });
    }
  }

  /** What comes at one moment is read in one turn of the event loop: no promise settles before the last of it was read. */
  #arrive(item: InTransit): void {
    this.#inTransit.splice(this.#inTransit.indexOf(item), 1);
    item.arrive();
    const [next] = this.#inTransit;
    if (next?.atUs !== item.atUs) return;
    next.planned.cancel();
    this.#arrive(next);
  }
}

const NOTHING: Planned = { cancel() {} };

/**
 * One connection between a process and a server, from its making to its end: two queues, in each of which order holds. Once it
 * is cut, nothing that is sent on it arrives any more; each end notices that when it does.
 */
export class Wire {
  readonly #time: VirtualTime;
  readonly #delays: Stream;
  readonly #distance: Distance;
  readonly #there: Way;
  readonly #back: Way;
  #isCut = false;

  constructor(time: VirtualTime, distance: Distance, delays: Stream, ends: Ends) {
    this.#time = time;
    this.#delays = delays;
    this.#distance = distance;
    const { name, process, server } = ends;
    this.#there = new Way(time, { actor: server, queue: `${name} there` });
    this.#back = new Way(time, { actor: process, queue: `${name} back` });
  }

  get isCut(): boolean {
    return this.#isCut;
  }

  /** How many things are on their way to the server, and back. */
  get underWay(): { readonly there: number; readonly back: number } {
    return { there: this.#there.underWay, back: this.#back.underWay };
  }

  toServer(sentUs: number, arrive: () => void): void {
    if (!this.#isCut) this.#there.send(sentUs + this.#delayUs(), arrive);
  }

  toProcess(arrive: () => void): void {
    if (!this.#isCut) this.#back.send(this.#time.nowUs + this.#delayUs(), arrive);
  }

  /** What is on its way to the server, or back, is late. @returns for how long from now */
  hold(way: "there" | "back", us: number): number {
    return way === "there" ? this.#there.hold(us) : this.#back.hold(us);
  }

  /**
   * The connection is of no use any more.
   * @param arrive how many of the things under way still arrive: to the server, and back
   * @param lateUs after which time the others reach the server none the less, as nobody can take them back; undefined: never
   */
  cut(arrive: { readonly there: number; readonly back: number }, lateUs?: number): void {
    this.#isCut = true;
    this.#there.cut(arrive.there, lateUs);
    this.#back.cut(arrive.back, undefined);
  }

  /** 0 is the shortest; one in eight is long. */
  #delayUs(): number {
    const { leastUs, spreadUs } = this.#distance;
    const drawn = this.#delays.choose(32);
    const share = drawn < 28 ? drawn / 112 : (drawn - 27) / 4;
    return leastUs + Math.floor(spreadUs * share);
  }
}
