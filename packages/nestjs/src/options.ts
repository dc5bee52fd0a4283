import type { CloseOptions, Driver, Holdfast, HoldfastOptions } from "holdfast";

/** The connection of a client, and its settings. */
export interface ConnectedOptions extends HoldfastOptions {
  /** For example `ioredisDriver(redis)`. */
  readonly driver: Driver;
  /**
   * How the client is closed when the application ends. `graceMs`: how long running bodies may go on before Nest closes its HTTP server.
   * Default: `{ graceMs: 10_000, releaseHeld: true }`.
   */
  readonly close?: CloseOptions;
  /**
   * Ends the connection after the client is closed: `() => redis.disconnect()`. Without Redis, `quit()` of ioredis may take a minute.
   * Default: the connection stays open, for the application.
   */
  readonly disconnect?: () => unknown;
}

/** An existing client, which the module closes as the option `close` says. */
export interface GivenOptions extends Pick<ConnectedOptions, "close" | "disconnect"> {
  readonly holdfast: Holdfast;
  /** The driver of that client: the health check uses it to test whether messages arrive. Default: messages are not tested. */
  readonly driver?: Driver;
}

export type HoldfastModuleOptions = ConnectedOptions | GivenOptions;

/** The options of the module's import, besides the client's own options. */
export interface HoldfastModuleExtras {
  /** The name of the client, if there are several. Default: `default`. */
  readonly name?: string | undefined;
  /** Whether all modules get the client without importing the module. Default: true. */
  readonly isGlobal?: boolean | undefined;
}
