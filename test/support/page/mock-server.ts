import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { assets } from "../../../src/inspector/assets.js";
import type {
  Change,
  FeedEvent,
  FeedSnapshot,
  Freed,
  LockDetail,
  Me,
} from "../../../src/inspector/format.js";

/** The security headers of the page, as its server sends them. */
export const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/** What the server tells; a test changes it as it likes. */
export interface MockState {
  me: Me;
  snapshot: FeedSnapshot;
  detail(key: string): LockDetail;
  freed: Freed | { readonly status: number; readonly nothingDone?: boolean };
  /** Answered to all but the page and its assets, instead of what was asked for. */
  refusal?: number;
  /** Keeps the feed back, as some proxies do. */
  holdsFeed?: boolean;
  token?: string;
}

/** Speaks as the inspector does, and tells what a test wants the page to show. */
export class MockServer {
  readonly requests: { method: string; query: string; headers: IncomingMessage["headers"] }[] = [];
  readonly #feeds = new Set<ServerResponse>();
  readonly #server: Server;

  private constructor(readonly state: MockState) {
    this.#server = createServer((request, response) => this.#answer(request, response));
  }

  static async start(state: MockState, port = 0): Promise<MockServer> {
    const server = new MockServer(state);
    await new Promise<void>((resolve) => server.#server.listen(port, "127.0.0.1", resolve));
    return server;
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}/`;
  }

  get feeds(): number {
    return this.#feeds.size;
  }

  change(change: Partial<Change>): void {
    const { totals, more, away, scan, blind } = this.state.snapshot;
    const whole: Change = {
      atMs: Date.now(),
      put: [],
      gone: [],
      clients: { put: [], gone: [] },
      totals,
      more,
      away,
      scan,
      blind,
      ...change,
    };
    this.#tell("change", whole);
  }

  event(event: FeedEvent): void {
    this.#tell("event", event);
  }

  /** Ends all feeds. */
  cut(): void {
    for (const feed of this.#feeds) feed.destroy();
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #tell(event: string, data: unknown): void {
    const text = `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
    for (const feed of this.#feeds) feed.write(text);
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { search, searchParams } = new URL(request.url ?? "/", "http://127.0.0.1");
    this.requests.push({ method: request.method ?? "", query: search, headers: request.headers });
    response.setHeader("content-security-policy", CONTENT_SECURITY_POLICY);
    response.setHeader("x-content-type-options", "nosniff");
    response.setHeader("referrer-policy", "no-referrer");
    const asset = searchParams.get("asset") ?? (search === "" ? "index.html" : undefined);
    const { token, refusal } = this.state;
    const isAllowed = token === undefined || request.headers.authorization === `Bearer ${token}`;
    if (asset !== undefined) sendAsset(asset, response);
    else if (refusal !== undefined || !isAllowed) sendRefusal(response, refusal ?? 401);
    else if (searchParams.has("feed")) this.#feed(response);
    else this.#tellOnce(searchParams, response);
  }

  #tellOnce(asked: URLSearchParams, response: ServerResponse): void {
    const { me, snapshot, freed } = this.state;
    if (asked.has("me")) sendJson(response, 200, me);
    else if (asked.has("snapshot")) sendJson(response, 200, snapshot);
    else if (asked.has("lock")) sendJson(response, 200, this.state.detail(asked.get("lock") ?? ""));
    else if (asked.has("scan")) response.writeHead(202).end();
    else if (!asked.has("free") && !asked.has("release")) sendRefusal(response, 404);
    else if ("status" in freed) sendRefusal(response, freed.status, freed.nothingDone);
    else sendJson(response, 200, freed);
  }

  #feed(response: ServerResponse): void {
    response.setHeader("content-type", "text/event-stream");
    if (this.state.holdsFeed) return;
    response.write(`event: snapshot\ndata: ${JSON.stringify(this.state.snapshot)}\n\n`);
    this.#feeds.add(response);
    response.on("close", () => this.#feeds.delete(response));
  }
}

function sendAsset(name: string, response: ServerResponse): void {
  const asset = assets[name];
  if (asset === undefined) {
    sendRefusal(response, 404);
    return;
  }
  response.setHeader("content-type", asset.type);
  response.end(gunzipSync(Buffer.from(asset.gzip, "base64")));
}

function sendRefusal(response: ServerResponse, status: number, nothingDone?: boolean): void {
  sendJson(response, status, { error: "refused by the test", nothingDone });
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

/** Stands for the digest that a real server makes. */
export function digestOf(...parts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
}
