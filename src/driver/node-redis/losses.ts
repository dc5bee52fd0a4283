/** Counts the connections of a client of node-redis. */
interface CountedConnections {
  readonly isReady: boolean;
  /** How many connections have been ready so far. */
  readonly socketEpoch: number;
}

/** Counts the ready connections that were lost. Node-redis reports a loss before it rejects the commands under way. */
export class ConnectionLosses {
  readonly #onLoss: () => void;
  readonly #known = new WeakMap<CountedConnections, number>();
  #count = 0;

  constructor(onLoss: () => void) {
    this.#onLoss = onLoss;
  }

  get count(): number {
    return this.#count;
  }

  /** Counts the connections that a client has lost since the last look. */
  look(client: CountedConnections): void {
    const losses = client.socketEpoch - (client.isReady ? 1 : 0);
    const known = this.#known.get(client) ?? losses;
    this.#known.set(client, losses);
    // `socketEpoch` restarts at zero after a server under maintenance has handed its clients over to another server.
    if (losses > known) this.add(losses - known);
  }

  add(losses = 1): void {
    this.#count += losses;
    this.#onLoss();
  }
}
