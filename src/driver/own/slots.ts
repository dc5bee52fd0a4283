import { ServerReplyError, WaitRefusedError } from "../driver.js";

/** The slots that a cluster's client knows. A server is named by its address, "host:port". */
export interface KnownSlots {
  /** The server that has the slot of a key or a channel; undefined while that server is unknown. */
  serverOf(key: string): string | undefined;
  /** Asks the cluster again which server has which slot. Never rejects. */
  refresh(): Promise<void>;
}

/** The server of a moving slot redirects once, to the slot's new server. A few more redirections allow for further moves meanwhile. */
const MOST_REDIRECTS = 3;

/** The servers that have the slots of a cluster. */
export class Slots implements KnownSlots {
  readonly #known: KnownSlots;

  constructor(known: KnownSlots) {
    this.#known = known;
  }

  serverOf(key: string): string | undefined {
    return this.#known.serverOf(key);
  }

  refresh(): Promise<void> {
    return this.#known.refresh();
  }

  /**
   * Calls `act` with the server that has a key, and again with the next server if the key has moved.
   * @param act is called with `asking: true` if the server is just receiving the slot
   * @param isOver whether nothing more may begin
   */
  async at<Result>(
    key: string,
    act: (server: string, asking: boolean) => Promise<Result>,
    isOver: () => boolean,
  ): Promise<Result> {
    let server = this.serverOf(key);
    let asking = false;
    for (let redirects = 0; ; redirects += 1) {
      if (server === undefined) {
        await this.refresh();
        server = this.serverOf(key);
      }
      if (server === undefined) throw new Error(`no known master has the slot of "${key}"`);
      try {
        return await act(server, asking);
      } catch (error) {
        const { code = "", message = "" } = error instanceof ServerReplyError ? error : {};
        if (code !== "MOVED" && code !== "ASK") {
          // The server may have failed, or be in a minority, and another server may have its slots by now.
          if (isLost(error)) void this.refresh();
          throw error;
        }
        if (redirects === MOST_REDIRECTS || isOver()) throw error;
        asking = code === "ASK";
        const [, , redirectedTo] = message.split(" ");
        server = asking ? redirectedTo : await this.#newServer(key, server, redirectedTo);
      }
    }
  }

  /**
   * After a refresh, the client's own table has priority over the address in a redirection: the client may reach that server by another
   * address.
   */
  async #newServer(key: string, old: string, redirectedTo: string | undefined): Promise<string | undefined> {
    await this.refresh();
    const known = this.serverOf(key);
    return known === undefined || known === old ? redirectedTo : known;
  }
}

function isLost(error: unknown): boolean {
  return error instanceof ServerReplyError
    ? error.code === "CLUSTERDOWN"
    : !(error instanceof WaitRefusedError);
}
