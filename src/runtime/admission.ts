import type { Clock, Timer } from "../clock.js";
import type { Driver } from "../driver/driver.js";
import { UnavailableError } from "../errors.js";
import { invariant } from "../invariant.js";
import { Link, Ring } from "../linked.js";
import { wasInVain } from "./command-failures.js";
import type { Commands } from "./commands.js";
import type { Instant } from "./instant.js";
import type { Waiter } from "./waiter.js";

/**
 * How many acquisitions of one client may be under way to one server: ten full groups. That keeps the server busy for about 4 ms, longer
 * than a round trip within a data centre. Further commands would only wait at the server, while their command timeouts run.
 */
const MOST_UNDER_WAY = 1_000;
/** Acquisitions are admitted in whole groups: many small groups would cost the server more. */
const GROUP = 100;

/** Cheaper than `queueMicrotask`, which keeps an async resource. */
const SOON = Promise.resolve();

/** An acquisition that is sent when its server has room for it. */
export interface Entrant {
  readonly key: string;
  readonly waiter: Waiter;
  /**
   * Whether the entrant is sent before those that came earlier, because by waiting it would lose its hold or its place in a queue in Redis.
   */
  readonly goesFirst: boolean;
  /** The entrant may be sent: it must be sent now, and reported to {@link Admission.answered} or {@link Admission.failed}. */
  admitted(room: Room): void;
  /**
   * The entrant was not sent, and will not be.
   * @param error undefined when the waiter's time is up, or it was cancelled
   */
  dismissed(error?: UnavailableError): void;
}

/** The acquisitions that are under way to one server, and those that wait for room there. */
export class Room {
  /** Acquisitions that were sent, or are about to be, and are not answered. */
  underWay = 0;
  /** The sending time of the latest acquisition that was answered, on the monotonic clock. */
  answeredMs: number = Number.NEGATIVE_INFINITY;
  /** The error of an acquisition that has failed without an answer since the queue was last checked. */
  failure: unknown;
  /** Whether a check of the queue is scheduled. */
  isDue = false;
  readonly lanes: Ring<Lane> = new Ring();
}

/** A part of the queue whose keys one command can name: the keys of one slot in a cluster, all keys elsewhere. */
class Lane extends Link {
  readonly slot: number;
  readonly queued: Ring<Queued> = new Ring();

  constructor(slot: number) {
    super();
    this.slot = slot;
  }
}

class Queued extends Link {
  readonly entrant: Entrant;
  /** On the monotonic clock. */
  readonly sinceMs: number;
  readonly #timer: Timer | undefined;

  constructor(entrant: Entrant, clock: Clock) {
    super();
    const { waiter } = entrant;
    const { queueMs } = waiter;
    this.entrant = entrant;
    this.sinceMs = clock.monotonicMs();
    if (queueMs < Number.POSITIVE_INFINITY) {
      this.#timer = clock.schedule(queueMs, () => this.dismiss(), true);
    }
    waiter.queued = this;
  }

  admit(room: Room): void {
    this.#leave();
    this.entrant.admitted(room);
  }

  dismiss(error?: UnavailableError): void {
    this.#leave();
    this.entrant.dismissed(error);
  }

  #leave(): void {
    this.unlink();
    this.#timer?.cancel();
    this.entrant.waiter.queued = undefined;
  }
}

interface AdmissionServices {
  readonly driver: Pick<Driver, "placeOf">;
  readonly clock: Clock;
  readonly commands: Commands;
}

/**
 * Bounds how many acquisitions are under way to each server. The others wait in a queue, first come, first served. Without the bound, a
 * burst would be sent at once, and the server would have one command timeout to answer all of it. An acquisition that leaves the queue
 * unsent has a known outcome and nothing to clean up. See decision 30.
 */
export class Admission {
  readonly #driver: Pick<Driver, "placeOf">;
  readonly #clock: Clock;
  readonly #commands: Commands;
  /** Set if one server has all keys. */
  readonly #only: Room | undefined;
  /** The room of each server, by place. */
  readonly #rooms = new Map<string, Room>();
  /** The lanes by slot, so that acquisitions of one key keep their order when its slot moves to another server. */
  readonly #lanes = new Map<number, Lane>();

  constructor({ driver, clock, commands }: AdmissionServices) {
    this.#driver = driver;
    this.#clock = clock;
    this.#commands = commands;
    if (driver.placeOf === undefined) this.#only = new Room();
  }

  /**
   * Takes room at the server that has a key. @returns undefined if the server has no room, or if other acquisitions already wait for room:
   * see {@link wait}
   */
  enter(key: string): Room | undefined {
    if (this.#lanes.size > 0 && this.#lanes.has(this.#commands.slotOf(key))) return undefined;
    const room = this.#only ?? this.#roomOf(key);
    if (room.underWay >= MOST_UNDER_WAY) return undefined;
    room.underWay += 1;
    return room;
  }

  /** Queues an acquisition that got no room from {@link enter}, unless its time is already up. */
  wait(entrant: Entrant): void {
    const { key, waiter, goesFirst } = entrant;
    if (waiter.cancelled || waiter.queueMs <= 0) {
      entrant.dismissed();
      return;
    }
    const lane = this.#laneOf(key);
    const queued = new Queued(entrant, this.#clock);
    if (!goesFirst) {
      lane.queued.add(queued);
      return;
    }
    const room = this.#roomOf(key);
    lane.queued.addFirst(queued);
    lane.unlink();
    room.lanes.addFirst(lane);
    this.#lookSoon(room);
  }

  /**
   * {@link wait} with a promise.
   * @returns undefined when the waiter's time is up, or it was cancelled
   * @throws UnavailableError when the server answers none of the acquisitions that were sent before it
   */
  turn(wanted: Pick<Entrant, "key" | "waiter" | "goesFirst">): Promise<Room | undefined> {
    const { key, waiter, goesFirst } = wanted;
    return new Promise((admitted, reject) => {
      const dismissed = (error?: UnavailableError) =>
        error === undefined ? admitted(undefined) : reject(error);
      this.wait({ key, waiter, goesFirst, admitted, dismissed });
    });
  }

  /** @param sentAt when the answered command was sent */
  answered(room: Room, { monotonicMs }: Instant): void {
    leave(room);
    if (monotonicMs > room.answeredMs) room.answeredMs = monotonicMs;
    if (this.#lanes.size > 0) this.#lookSoon(room);
  }

  /** @param error why it was not answered */
  failed(room: Room, error: unknown): void {
    leave(room);
    if (wasInVain(error)) room.failure = error;
    if (this.#lanes.size > 0) this.#lookSoon(room);
  }

  #roomOf(key: string): Room {
    if (this.#only !== undefined) return this.#only;
    const place = this.#driver.placeOf?.(key) ?? "";
    const known = this.#rooms.get(place);
    if (known !== undefined) return known;
    const room = new Room();
    this.#rooms.set(place, room);
    return room;
  }

  #laneOf(key: string): Lane {
    const slot = this.#commands.slotOf(key);
    const known = this.#lanes.get(slot);
    if (known !== undefined) return known;
    const lane = new Lane(slot);
    this.#lanes.set(slot, lane);
    this.#roomOf(key).lanes.add(lane);
    return lane;
  }

  /** Checks the queue once for all answers of one packet. */
  #lookSoon(room: Room): void {
    if (room.isDue) return;
    room.isDue = true;
    void SOON.then(() => this.#look(room));
  }

  #look(room: Room): void {
    room.isDue = false;
    const { failure } = room;
    room.failure = undefined;
    if (failure !== undefined) this.#giveUp(room, failure);
    while (room.underWay <= MOST_UNDER_WAY - GROUP) {
      const lane = room.lanes.first;
      if (lane === undefined) return;
      if (!this.#hasMoved(lane, room)) this.#admit(lane, room);
    }
  }

  /** Admits as many entrants of a lane as fit into one command. Then it is the next lane's turn. */
  #admit(lane: Lane, room: Room): void {
    lane.unlink();
    for (let count = 0; count < GROUP; count += 1) {
      const { first } = lane.queued;
      if (first === undefined) break;
      room.underWay += 1;
      first.admit(room);
    }
    if (lane.queued.isEmpty) this.#lanes.delete(lane.slot);
    else room.lanes.add(lane);
  }

  /** A lane waits at the server that had its slot when the lane was made. If the slot has moved since, the lane moves to the new server. */
  #hasMoved(lane: Lane, from: Room): boolean {
    const { first } = lane.queued;
    const room = first === undefined ? from : this.#roomOf(first.entrant.key);
    if (room === from) return false;
    lane.unlink();
    room.lanes.add(lane);
    this.#lookSoon(room);
    return true;
  }

  /**
   * A command was not answered within its time. If no command that was sent during the last command timeout was answered either, the
   * acquisitions that have waited at least that long fail.
   */
  #giveUp(room: Room, failure: unknown): void {
    const { timeoutMs, server } = this.#commands;
    const beforeMs = this.#clock.monotonicMs() - timeoutMs;
    if (room.answeredMs > beforeMs) return;
    const why = `no earlier command was answered within ${timeoutMs} ms`;
    const error = new UnavailableError(server, why, false, { cause: failure });
    for (const lane of room.lanes) {
      if (this.#hasMoved(lane, room)) continue;
      for (const queued of lane.queued) if (queued.sinceMs <= beforeMs) queued.dismiss(error);
    }
  }
}

function leave(room: Room): void {
  room.underWay -= 1;
  invariant(room.underWay >= 0, "a server has a negative number of commands under way");
}
