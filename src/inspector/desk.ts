import { types } from "node:util";
import { gunzipSync } from "node:zlib";
import { ClientClosedError, type Holdfast, UnavailableError } from "../index.js";
import { VERSION } from "../version.js";
import { type Admitted, admit, isOfPage } from "./access.js";
import { type Answer, answer, apart, feed, isResponse, json, refusal } from "./answer.js";
import { assets } from "./assets.js";
import { Audience } from "./audience.js";
import { Deeds } from "./deeds.js";
import { NotToBeFreed, TooMany } from "./denials.js";
import type { LockDetail, Me, Refusal } from "./format.js";
import { Freeing } from "./freeing.js";
import type { InspectorSettings } from "./inspector-options.js";
import { PermitsSeen } from "./permits-seen.js";
import { Picture } from "./picture.js";
import { WhichServer } from "./place.js";
import { MalformedQuery, type Query, readQuery, type WantedRows } from "./query.js";
import { permitIdsIn, Releasing } from "./releasing.js";
import { DIGEST, laterRow } from "./rows.js";
import { Scanning } from "./scan.js";
import { shellLine } from "./told.js";

/** A request that `authorize` has let in. */
interface AdmittedRequest<Of extends Query["of"] = Query["of"]> {
  readonly query: Query & { readonly of: Of };
  readonly request: Request;
  readonly native: unknown;
  readonly by: Admitted;
}

const READS = "GET, HEAD";
const WRITES = "POST";

/** Answers requests from either door. */
export class Desk {
  readonly #settings: InspectorSettings;
  readonly #picture: Picture;
  readonly #audience: Audience;
  readonly #freeing: Freeing;
  readonly #releasing: Releasing;
  readonly #permits: PermitsSeen;
  readonly #scanning: Scanning;
  readonly #server: WhichServer;

  constructor(holdfast: Holdfast, settings: InspectorSettings) {
    const picture = new Picture(settings.clock, settings.historyMinutes);
    this.#settings = settings;
    this.#picture = picture;
    this.#audience = new Audience(holdfast, settings, picture);
    const deeds = new Deeds(settings, picture, (event) => this.#audience.tell(event));
    this.#freeing = new Freeing(holdfast, settings, picture, deeds);
    this.#releasing = new Releasing(holdfast, picture, deeds);
    this.#permits = new PermitsSeen(holdfast, picture);
    this.#scanning = new Scanning(holdfast, settings, picture, () => this.#audience.tellChanges());
    this.#server = new WhichServer(holdfast, settings);
    this.#audience.onLeft(() => this.#scanning.stop());
  }

  close(): void {
    this.#audience.close();
  }

  /** @returns a response of `authorize`, or the page's own answer. Never rejects */
  async ask(request: Request, native: unknown): Promise<Answer | Response> {
    const by = await admit(this.#settings.authorize, request, native);
    if (isResponse(by)) return by;
    // A refusal would show that the page exists.
    const answered = by === undefined ? answer(404) : await this.#answer(request, native, by);
    return apart(answered, request);
  }

  async #answer(request: Request, native: unknown, by: Admitted): Promise<Answer> {
    try {
      const query = readQuery(new URL(request.url).search);
      if (query === undefined) return refusal(404, "there is nothing at this address");
      return await this.#answerQuery({ query, request, native, by });
    } catch (error) {
      return failure(error);
    }
  }

  async #answerQuery({ query, ...asked }: AdmittedRequest): Promise<Answer> {
    const { method } = asked.request;
    const allow = query.of === "free" || query.of === "release" || query.of === "scan" ? WRITES : READS;
    if (!allow.split(", ").includes(method)) return refusal(405, `${method} is not allowed here`, { allow });
    switch (query.of) {
      case "page":
        return asset("index.html", asked.request);
      case "asset":
        return asset(query.name, asked.request);
      case "me":
        return json(await this.#me(asked.by));
      case "snapshot":
        await this.#audience.glance();
        this.#assertOpen();
        return json(this.#audience.snapshot(query.wanted));
      case "lock":
        await this.#audience.glance();
        this.#assertOpen();
        return json(await this.#detail(query.key));
      case "feed":
        return this.#feed(query.wanted, asked);
      case "scan":
        return this.#mayChange(asked, "holdfast-scan") ?? this.#scan();
      case "free":
        return this.#mayChange(asked, "holdfast-seen") ?? this.#free({ query, ...asked });
      case "release":
        return this.#mayChange(asked, "holdfast-permits") ?? this.#release({ query, ...asked });
      default:
        return query satisfies never;
    }
  }

  async #me({ role, actor }: Admitted): Promise<Me> {
    const { title, refreshMs, links } = this.#settings;
    const { blind } = this.#picture;
    return {
      role,
      actor,
      title,
      ...(await this.#server.place()),
      holdfast: VERSION,
      refreshMs,
      links,
      blind,
    };
  }

  async #detail(key: string): Promise<LockDetail> {
    const permits = await this.#permits.of(key);
    const { ageMs, nowMs: atMs, changes } = this.#picture;
    const seen = this.#picture.lock(key);
    const lock = seen === undefined ? null : laterRow(seen, ageMs);
    const unlock = lock === null ? null : shellLine(lock);
    return { atMs, lock, unlock, changes: changes.of(key), ...(permits !== undefined && { permits }) };
  }

  #feed(wanted: WantedRows, { request, native, by }: Omit<AdmittedRequest, "query">): Answer {
    this.#assertOpen();
    const { authorize } = this.#settings;
    const full = this.#audience.fullFor(by.actor);
    if (full === "all") return refusal(503, "too many pages are open", { "retry-after": "30" });
    if (full === "actor") return refusal(429, "you have too many pages open", { "retry-after": "30" });
    const mayStay = async () => {
      const access = await admit(authorize, request, native);
      return access !== undefined && !isResponse(access);
    };
    return feed((sink) => this.#audience.join({ wanted, actor: by.actor, mayStay }, sink));
  }

  /** @returns a refusal if this request may not change anything; otherwise undefined */
  #mayChange({ request, by }: Omit<AdmittedRequest, "query">, header: string): Answer | undefined {
    const { origin: named } = this.#settings;
    const origin = named ?? new URL(request.url).origin;
    if (by.role !== "operate") return refusal(403, "you may only look, not change anything");
    if (!isOfPage(request.headers, { origin, isNamed: named !== undefined }, by))
      return refusal(
        403,
        `the request does not come from a page of ${origin}, which is the origin that the option origin or the header Host names`,
      );
    // A form of another page cannot send this header.
    if (!request.headers.has(header)) return refusal(400, `the header ${header} is missing`);
    return undefined;
  }

  #scan(): Answer {
    this.#assertOpen();
    if (!this.#scanning.start()) return refusal(409, "a search is already running");
    void this.#audience.glance();
    return json({ started: true }, 202);
  }

  async #free({ query: { key, reason }, request, by }: AdmittedRequest<"free">): Promise<Answer> {
    const digest = request.headers.get("holdfast-seen") ?? "";
    if (!DIGEST.test(digest)) return refusal(400, "holdfast-seen is not the digest of a lock");
    this.#assertOpen();
    return json(await this.#freeing.free({ key, digest, reason, by }));
  }

  async #release({ query: { key, reason }, request, by }: AdmittedRequest<"release">): Promise<Answer> {
    const ids = permitIdsIn(request.headers.get("holdfast-permits") ?? "");
    if (ids === undefined) return refusal(400, "holdfast-permits must be ids of permits, at most 100");
    this.#assertOpen();
    return json(await this.#releasing.release({ key, ids, reason, by }));
  }

  #assertOpen(): void {
    if (this.#audience.isClosed) throw new ClientClosedError();
  }
}

function asset(name: string, request: Request): Answer {
  const found = Object.hasOwn(assets, name) ? assets[name] : undefined;
  const isPage = name === "index.html";
  if (found === undefined || (isPage && new URL(request.url).search !== ""))
    return refusal(404, "there is no such file");
  const zipped = Buffer.from(found.gzip, "base64");
  const takesGzip = /\bgzip\b/.test(request.headers.get("accept-encoding") ?? "");
  const headers = {
    "content-type": found.type,
    // The name of an asset contains its digest. A proxy must not keep the asset, because not every user may see it.
    "cache-control": isPage ? "no-store" : "private, max-age=31536000, immutable",
    vary: "accept-encoding",
    ...(takesGzip ? { "content-encoding": "gzip" } : {}),
  };
  return answer(200, headers, takesGzip ? zipped : gunzipSync(zipped));
}

function failure(error: unknown): Answer {
  const message = types.isNativeError(error) ? error.message : String(error);
  if (error instanceof MalformedQuery || error instanceof NotToBeFreed) return refusal(400, message);
  if (error instanceof TooMany) return refusal(429, message, { "retry-after": "60" });
  const mayBeDone = error instanceof UnavailableError && error.outcomeUnknown;
  const body: Refusal = { error: message, nothingDone: !mayBeDone };
  return json(body, 503);
}
