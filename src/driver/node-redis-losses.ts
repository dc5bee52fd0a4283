/** What node-redis tells of the connections that a client has had. */
interface Connections {
  readonly isReady: boolean;
  /** How many have been ready so far. */
  readonly socketEpoch: number;
}

/** Counts the connections that clients have lost once they were ready. Node-redis tells of a loss before it rejects what was under way. */
export class ConnectionLosses {
  readonly #known = new WeakMap<Connections, number>();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Looks what a client has lost since it was last looked at. True where that is anything. */
  look(client: Connections): boolean {
    const losses = client.socketEpoch - (client.isReady ? 1 : 0);
    const known = this.#known.get(client) ?? losses;
    this.#known.set(client, losses);
    // It begins anew where a server under maintenance has handed its clients over to another.
    this.#count += Math.max(0, losses - known);
    return losses > known;
  }

  /** A client has ended. */
  add(): void {
    this.#count += 1;
  }
}
