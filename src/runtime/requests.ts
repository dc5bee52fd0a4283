import type { Clock } from "../clock.js";
import type { RepeatableRequest } from "../protocol/count-scripts.js";
import { requestsKey } from "../protocol/names.js";
import type { Commands } from "./commands.js";
import type { Deadline } from "./deadline.js";
import type { ServerClock } from "./server-clocks.js";

/** Redis keeps the answer to a request at least this long, so the request may be repeated for this time. */
const MEMORY_MS = 60_000;
/** After its last sending a command may be under way for this many command timeouts. */
const TIMEOUTS_UNDER_WAY = 4;
/** How many answers one command makes Redis forget, at most. */
const MOST_SETTLED = 32;
const SMALLEST_SWEEP = 64;

/** An ended request: Redis may forget the answer to this request once no copy of the request can arrive any more. */
interface Settled {
  readonly id: string;
  /** The time until which copies of the request may arrive; undefined: none can arrive. */
  readonly copiesUntil: Deadline | undefined;
}

/** The requests of one client about one value. */
class Book {
  /** The key of the value. */
  readonly count: string;
  readonly requests: string;
  open = 0;
  /** On the monotonic clock. */
  usedMs = 0;
  #settled: Settled[] = [];

  constructor(count: string, requests: string) {
    this.count = count;
    this.requests = requests;
  }

  settle(settled: Settled): void {
    this.#settled.push(settled);
  }

  /** Takes out the requests whose answers Redis may forget, for one command. No other command under way then names the same requests. */
  take(clock: ServerClock | undefined): readonly Settled[] {
    const taken: Settled[] = [];
    const kept: Settled[] = [];
    for (const settled of this.#settled) {
      const { id, copiesUntil } = settled;
      const until = clock === undefined ? copiesUntil : copiesUntil?.on(clock, clock.latestMs);
      const isOver = until === undefined || (clock !== undefined && until.ms < clock.latestMs);
      if (isOver && taken.length < MOST_SETTLED) taken.push(settled);
      else kept.push(until === copiesUntil ? settled : { id, copiesUntil: until });
    }
    this.#settled = kept;
    return taken;
  }

  /** The command that named these requests may not have run. */
  putBack(settled: readonly Settled[]): void {
    this.#settled.push(...settled);
  }
}

interface RequestServices {
  readonly clientId: string;
  readonly clock: Clock;
  readonly commands: Commands;
}

/**
 * The requests of a client about values without an owner, such as the count of a latch. Redis remembers the answer to each, so that a
 * repeat has no second effect. The next request about the same value makes Redis forget the answers to requests that will not be repeated
 * any more.
 */
export class Requests {
  readonly #services: RequestServices;
  readonly #memoryMs: number;
  readonly #books = new Map<string, Book>();
  #latestId = 0;
  #sweepAtSize = SMALLEST_SWEEP;

  constructor(services: RequestServices) {
    this.#services = services;
    this.#memoryMs = MEMORY_MS + TIMEOUTS_UNDER_WAY * services.commands.timeoutMs;
  }

  /** A number that is unique in this client. */
  nextId(): number {
    this.#latestId += 1;
    return this.#latestId;
  }

  /** @param count the key of the value */
  begin(count: string): OpenRequest {
    const { clientId, clock, commands } = this.#services;
    const nowMs = clock.monotonicMs();
    if (this.#books.size >= this.#sweepAtSize) this.#sweep(nowMs - this.#memoryMs);
    const book = this.#books.get(count) ?? new Book(count, requestsKey(count, clientId));
    this.#books.set(count, book);
    book.usedMs = nowMs;
    return new OpenRequest(String(this.nextId()), book, { clock, commands, memoryMs: this.#memoryMs });
  }

  /** Forgets values that were unused for so long that Redis has forgotten the answers too. */
  #sweep(unusedSinceMs: number): void {
    for (const [count, { open, usedMs }] of this.#books) {
      if (open === 0 && usedMs < unusedSinceMs) this.#books.delete(count);
    }
    this.#sweepAtSize = Math.max(SMALLEST_SWEEP, 2 * this.#books.size);
  }
}

interface Means {
  readonly clock: Clock;
  readonly commands: Commands;
  readonly memoryMs: number;
}

/** A request that has no known outcome yet. */
export class OpenRequest {
  readonly #id: string;
  readonly #book: Book;
  readonly #means: Means;
  /** On the monotonic clock. */
  readonly #begunMs: number;
  /** After this time copies of the request change nothing. */
  #deadline: Deadline | undefined;
  #told: readonly Settled[] = [];
  #ended = false;

  constructor(id: string, book: Book, means: Means) {
    this.#id = id;
    this.#book = book;
    this.#means = means;
    this.#begunMs = means.clock.monotonicMs();
    book.open += 1;
  }

  /** True while Redis certainly still has the answer to an earlier sending. */
  get mayRepeat(): boolean {
    return this.#means.clock.monotonicMs() < this.#begunMs + MEMORY_MS;
  }

  /** The request, for a command that is sent now. */
  next(): RepeatableRequest {
    const { commands, memoryMs } = this.#means;
    const { count } = this.#book;
    const notAfterMs = commands.notAfterMs(count);
    this.#deadline = commands.deadline(count, notAfterMs, this.#deadline);
    this.#book.putBack(this.#told);
    this.#told = this.#book.take(commands.serverClock(count));
    const settled = this.#told.map(({ id }) => id);
    return { requests: this.#book.requests, id: this.#id, notAfterMs, memoryMs, settled };
  }

  /** The latest command has run: Redis has forgotten the answers that it named. */
  answered(): void {
    this.#told = [];
  }

  /**
   * The outcome is known, or no longer matters.
   * @param left what may still exist: nothing; an answer in Redis; or copies of the command as well, which may arrive until their deadline
   */
  end(left: "nothing" | "answer" | "copies"): void {
    if (this.#ended) return;
    this.#ended = true;
    const book = this.#book;
    book.open -= 1;
    book.usedMs = this.#means.clock.monotonicMs();
    book.putBack(this.#told);
    if (left === "nothing") return;
    book.settle({ id: this.#id, copiesUntil: left === "copies" ? this.#deadline : undefined });
  }
}
