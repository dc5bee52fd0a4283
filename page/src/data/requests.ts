import type { FeedSnapshot, Freed, LockDetail, Me, Refusal } from "../../../src/inspector/format.js";
import { encoded } from "../text/encoded.js";

/** An answer other than 200. */
export class RefusedError extends Error {
  constructor(
    readonly status: number,
    /** The server's message about the refusal; "" without a message. */
    readonly reason: string,
    /** Whether it is certain that nothing was changed. */
    readonly nothingDone: boolean,
  ) {
    super(`${status} ${reason}`);
  }
}

const TOKEN = "holdfast-inspector-token";

/** The requests of the page to its server. All of them go to the address of the page. */
export class Requests {
  #token: string | null;

  /** @param storage keeps the token during a reload; null if the browser does not allow storage */
  constructor(private readonly storage: Storage | null) {
    this.#token = storage?.getItem(TOKEN) ?? null;
  }

  /** Takes the token out of a fragment such as `#token=…`. @returns whether the fragment had a token */
  takeToken(fragment: string): boolean {
    const token = new URLSearchParams(fragment.replace(/^#/, "")).get("token");
    if (token === null || token === "") return false;
    this.#token = token;
    this.storage?.setItem(TOKEN, token);
    return true;
  }

  me(signal: AbortSignal): Promise<Me> {
    return this.#json("?me", signal);
  }

  /** @param wanted which locks, as in the query behind `?snapshot` */
  snapshot(wanted: string, signal: AbortSignal): Promise<FeedSnapshot> {
    return this.#json(`?snapshot${wanted}`, signal);
  }

  lock(key: string, signal: AbortSignal): Promise<LockDetail> {
    return this.#json(`?lock=${encoded(key)}`, signal);
  }

  /** @param seen the digest of the lock on the page */
  async free(key: string, seen: string, reason: string): Promise<Freed> {
    const why = reason === "" ? "" : `&reason=${encoded(reason)}`;
    const response = await this.#send(`?free=${encoded(key)}${why}`, {
      method: "POST",
      headers: { "holdfast-seen": seen },
    });
    return response.json();
  }

  /** @param ids of the permits on the page */
  async release(key: string, ids: readonly string[], reason: string): Promise<Freed> {
    const why = reason === "" ? "" : `&reason=${encoded(reason)}`;
    const response = await this.#send(`?release=${encoded(key)}${why}`, {
      method: "POST",
      headers: { "holdfast-permits": ids.join() },
    });
    return response.json();
  }

  /** Begins the search through all keys. The feed reports its progress. A running search continues. */
  async scan(): Promise<void> {
    await this.#send("?scan", { method: "POST", headers: { "holdfast-scan": "1" } });
  }

  feed(wanted: string, signal: AbortSignal): Promise<Response> {
    return this.#send(`?feed${wanted}`, { signal, headers: { accept: "text/event-stream" } });
  }

  async #json<T>(query: string, signal: AbortSignal): Promise<T> {
    const response = await this.#send(query, { signal });
    return response.json();
  }

  async #send(query: string, init: RequestInit & { headers?: Record<string, string> }): Promise<Response> {
    const authorization = this.#token === null ? {} : { authorization: `Bearer ${this.#token}` };
    const response = await fetch(query, {
      ...init,
      cache: "no-store",
      redirect: "error",
      headers: { ...init.headers, ...authorization },
    });
    if (response.ok) return response;
    const { error = "", nothingDone = response.status < 500 } = await refusalOf(response);
    throw new RefusedError(response.status, error, nothingDone);
  }
}

/** A response that is not JSON comes from a proxy. */
async function refusalOf(response: Response): Promise<Partial<Refusal>> {
  try {
    return await response.json();
  } catch {
    return {};
  }
}
