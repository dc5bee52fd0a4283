import type { Driver } from "../../../src/driver/driver.js";
import type { Places, Topology } from "../servers/topologies.js";

/** A client that is connected. */
export interface ConnectedClient {
  /** A new driver on it, once the last one is closed. */
  drive(): Driver;
  end(): Promise<void>;
}

/** A Redis client on a topology that its adapter claims. */
export interface Pair<Kind extends Topology = Topology> {
  /** As in "ioredis 6". */
  readonly client: string;
  readonly topology: Kind;
  connect(place: Places[Kind]): Promise<ConnectedClient>;
}

/** Any of them, each with the place that it can connect to. */
export type AnyPair = { [Kind in Topology]: Pair<Kind> }[Topology];
