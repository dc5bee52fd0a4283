import { type Holdfast, UnavailableError } from "../index.js";
import type { InspectorSettings } from "./inspector-options.js";

/** The name and version of the server, as far as they are known. */
export interface ServerPlace {
  /** Without credentials. */
  readonly server: string;
  readonly redis: string | null;
}

const KEPT_MS = 60_000;
/** The pause while the server does not answer. */
const RETRY_MS = 3_000;

/** Finds out which server answers, and asks at most once a minute. */
export class WhichServer {
  readonly #holdfast: Holdfast;
  readonly #clock: InspectorSettings["clock"];
  #asked: { readonly place: Promise<ServerPlace>; untilMs: number } | undefined;

  constructor(holdfast: Holdfast, { clock }: Pick<InspectorSettings, "clock">) {
    this.#holdfast = holdfast;
    this.#clock = clock;
  }

  /** Never rejects. */
  place(): Promise<ServerPlace> {
    const nowMs = this.#clock.monotonicMs();
    if (this.#asked !== undefined && nowMs < this.#asked.untilMs) return this.#asked.place;
    const asked = { place: this.#ask(), untilMs: nowMs + KEPT_MS };
    this.#asked = asked;
    void asked.place.then(({ redis }) => {
      if (redis === null) asked.untilMs = this.#clock.monotonicMs() + RETRY_MS;
    });
    return asked.place;
  }

  async #ask(): Promise<ServerPlace> {
    try {
      const { server, version } = await this.#holdfast.ping();
      return { server, redis: version };
    } catch (error) {
      return { server: error instanceof UnavailableError ? error.server : "", redis: null };
    }
  }
}
