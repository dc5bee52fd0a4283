import type { Driver } from "../driver/driver.js";
import type { Instant } from "./instant.js";

/**
 * The clock of the server that a connection leads to, as its answers tell it. After the connection was lost another server may
 * be at its end: that is another clock, and times of two clocks are not compared.
 */
export interface ServerClock {
  /** How often the connection had been lost when the clock was first read. */
  readonly resets: number;
  /** Server time minus monotonic time. */
  readonly offsetMs: number;
  /** The clock has surely come so far. */
  readonly latestMs: number;
}

type Reading = { -readonly [Part in keyof ServerClock]: ServerClock[Part] };

/** A server that has, or had, some of the keys. */
export class Server {
  /** As `Driver.placeOf` names it; "" where one server has all keys, or for keys whose server is not known. */
  readonly place: string;
  /** By which a deadline is made now; undefined before its first answer. */
  clock: Reading | undefined;

  constructor(place: string) {
    this.place = place;
  }
}

/** A command as it was sent. */
interface SentCommand {
  readonly command: { readonly key: string };
  /** The one that had its key when it was sent. */
  readonly server: Server | undefined;
  readonly sentAt: Instant;
  /** How often the connection had been lost by then. */
  readonly resets: number | undefined;
}

/** Keeps a clock for each server, set by its answers. A server is found by a key that it has. */
export class ServerClocks {
  readonly #driver: Pick<Driver, "placeOf" | "resets">;
  /** For all keys where one server has them, and for keys whose server the driver does not name. */
  readonly #unplaced = new Server("");
  /** The others, by place. */
  readonly #servers = new Map<string, Server>();
  readonly #metAgain: (key: string) => void;

  /** @param metAgain hears of the first answer of a known place after a lost connection, with the key that the command named */
  constructor(driver: Pick<Driver, "placeOf" | "resets">, metAgain: (key: string) => void) {
    this.#driver = driver;
    this.#metAgain = metAgain;
  }

  /** The server that has a key at present. */
  serverOf(key: string): Server {
    const place = this.#driver.placeOf?.(key) ?? "";
    if (place === "") return this.#unplaced;
    const known = this.#servers.get(place);
    if (known !== undefined) return known;
    const server = new Server(place);
    this.#servers.set(place, server);
    return server;
  }

  /**
   * @param serverMs what the answer to the command says
   * @returns the clock; undefined when it is not known which server has answered
   */
  read({ command, server, sentAt, resets }: SentCommand, serverMs: number): ServerClock | undefined {
    const answering = this.serverOf(command.key);
    // The key has moved meanwhile: either server may have answered. With the place "" it was sent before there was a connection, and has
    // not moved.
    if (server !== answering && server?.place !== "") return undefined;
    // The client may have sent it again, to another server.
    if (resets !== this.#driver.resets) return undefined;
    const offsetMs = serverMs - sentAt.monotonicMs;
    const known = answering.clock;
    if (known?.resets === resets) {
      known.offsetMs = offsetMs;
      known.latestMs = Math.max(serverMs, known.latestMs);
      return known;
    }
    answering.clock = { resets, offsetMs, latestMs: serverMs };
    if (known !== undefined) this.#metAgain(command.key);
    return answering.clock;
  }

  forget(key: string): void {
    this.serverOf(key).clock = undefined;
  }

  /** The clock of the server that has a key; undefined while it has answered nothing since the connection was lost. */
  current(key: string): ServerClock | undefined {
    const { clock } = this.serverOf(key);
    return clock?.resets === this.#driver.resets ? clock : undefined;
  }
}
