import type { CloseOptions, Driver, Holdfast, HoldfastOptions } from "holdfast";

/** The connection of a client, and how it works. */
export interface ConnectedOptions extends HoldfastOptions {
  /** As `ioredisDriver(redis)`. */
  readonly driver: Driver;
  /**
   * How the client is closed when the application ends. `graceMs`: for how long running bodies may go on, before Nest closes its HTTP server.
   * Default: `{ graceMs: 10_000, releaseHeld: true }`.
   */
  readonly close?: CloseOptions;
  /**
   * Ends the connection, once the client is closed: `() => redis.disconnect()`. With Redis away `quit()` of ioredis may take a minute. Default:
   * nothing, the connection is the application's.
   */
  readonly disconnect?: () => unknown;
}

/** A client that is there already, and that the module closes, as `close` says. */
export interface GivenOptions extends Pick<ConnectedOptions, "close" | "disconnect"> {
  readonly holdfast: Holdfast;
  /** The driver of that client, by which the health check sees whether messages arrive. Default: it does not look at them. */
  readonly driver?: Driver;
}

export type HoldfastModuleOptions = ConnectedOptions | GivenOptions;

/** The options of the module's import, besides the client's own options. */
export interface HoldfastModuleExtras {
  /** Which client this is, where there are several. Default: `default`. */
  readonly name?: string | undefined;
  /** Whether all modules see it without importing it. Default: true. */
  readonly isGlobal?: boolean | undefined;
}
