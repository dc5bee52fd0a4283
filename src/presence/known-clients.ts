import type { Live, Meta } from "./claims.js";

/** A client's report when it was last read. */
export interface Described {
  readonly liveAt: string;
  readonly meta: Meta;
  readonly live: Live;
  readonly bytes: number;
}

/** The last reports of the clients of one group, so that the server can leave out unchanged ones the next time. */
export class KnownClients {
  #group = "";
  #described: ReadonlyMap<string, Described> = new Map();

  of(group: string): ReadonlyMap<string, Described> {
    return group === this.#group ? this.#described : new Map();
  }

  replace(group: string, described: ReadonlyMap<string, Described>): void {
    this.#group = group;
    this.#described = described;
  }
}
