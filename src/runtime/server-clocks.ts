import type { Driver } from "../driver/driver.js";
import type { Instant } from "./instant.js";

/**
 * The clock of the server that a connection leads to, as its answers show it. After a lost connection, another server may answer at the
 * same address. It has another clock, and times of two clocks are never compared.
 */
export interface ServerClock {
  /** How many times the connection had been lost when the clock was first read. */
  readonly resets: number;
  /** Server time minus monotonic time. */
  readonly offsetMs: number;
  /** The clock has certainly reached this time. */
  readonly latestMs: number;
}

type Reading = { -readonly [Part in keyof ServerClock]: ServerClock[Part] };

/** A server that has, or had, some of the keys. */
export class Server {
  /** As `Driver.placeOf` names it; "" if one server has all keys, or for keys with an unknown server. */
  readonly place: string;
  /** The clock for new deadlines; undefined before the server's first answer. */
  clock: Reading | undefined;

  constructor(place: string) {
    this.place = place;
  }
}

/** A command as it was sent. */
interface SentCommand {
  readonly command: { readonly key: string };
  /** The server that had the command's key when the command was sent. */
  readonly server: Server | undefined;
  readonly sentAt: Instant;
  /** How many times the connection had been lost before the command was sent. */
  readonly resets: number | undefined;
}

/** Keeps a clock for each server, set by its answers. To find a server, pass a key that it has. */
export class ServerClocks {
  readonly #driver: Pick<Driver, "placeOf" | "resets">;
  /** The only server, if one has all keys; also the server of keys whose server the driver does not name. */
  readonly #unplaced = new Server("");
  /** The other servers, by place. */
  readonly #servers = new Map<string, Server>();
  readonly #metAgain: (key: string) => void;

  /** @param metAgain called at the first answer of a known place after a lost connection, with the key that the command named */
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
   * @param serverMs the server's time in the answer
   * @returns the clock; undefined if the answering server is not known
   */
  read({ command, server, sentAt, resets }: SentCommand, serverMs: number): ServerClock | undefined {
    const answering = this.serverOf(command.key);
    // The key has moved meanwhile: either server may have answered. If the command was sent before there was a connection, the place is "",
    // and the key has not moved.
    if (server !== answering && server?.place !== "") return undefined;
    // The client may have sent the command again, to another server.
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
