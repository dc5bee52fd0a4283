import { ServerReplyError, WaitRefusedError } from "../driver.js";

/** What is known of the servers that have the keys. A server of a cluster is named by its address, "host:port". */
export interface Servers {
  /** The server that has a key or a channel; undefined while none is known. */
  serverOf(key: string): string | undefined;
  /** Asks a cluster anew who has which slot. Never rejects. Not there where one server has all keys. */
  readonly refresh?: (() => Promise<void>) | undefined;
}

/** A slot that is being moved redirects once, to a master that knows. */
const MOST_REDIRECTS = 3;

/**
 * Does something at the server that has a key, and follows it where it has moved.
 * @param act does it, at a server that gets the slot only now where `asking` is true
 * @param isOver whether nothing more is to be begun
 */
export async function atServerOf<Result>(
  servers: Servers,
  key: string,
  act: (server: string, asking: boolean) => Promise<Result>,
  isOver: () => boolean,
): Promise<Result> {
  const mostRedirects = servers.refresh === undefined ? 0 : MOST_REDIRECTS;
  let server = servers.serverOf(key);
  let asking = false;
  for (let redirects = 0; ; redirects += 1) {
    if (server === undefined) {
      await servers.refresh?.();
      server = servers.serverOf(key);
    }
    if (server === undefined) throw new Error(`no master is known that has the slot of "${key}"`);
    try {
      return await act(server, asking);
    } catch (error) {
      const { code = "", message = "" } = error instanceof ServerReplyError ? error : {};
      if (code !== "MOVED" && code !== "ASK") {
        // It may have failed, or be outvoted, and another be there by now.
        if (isLost(error)) void servers.refresh?.();
        throw error;
      }
      if (redirects === mostRedirects || isOver()) throw error;
      asking = code === "ASK";
      const [, , redirectedTo] = message.split(" ");
      server = asking ? redirectedTo : await newServer(servers, key, server, redirectedTo);
    }
  }
}

/** What the client knows after a look goes before the address in a redirection, which it may reach by another one. */
async function newServer(
  servers: Servers,
  key: string,
  old: string,
  redirectedTo: string | undefined,
): Promise<string | undefined> {
  await servers.refresh?.();
  const known = servers.serverOf(key);
  return known === undefined || known === old ? redirectedTo : known;
}

function isLost(error: unknown): boolean {
  return error instanceof ServerReplyError
    ? error.code === "CLUSTERDOWN"
    : !(error instanceof WaitRefusedError);
}
