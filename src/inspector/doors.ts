import type { IncomingMessage, ServerResponse } from "node:http";
import { type Answer, isResponse, refusal, type Sink } from "./answer.js";
import type { Desk } from "./desk.js";

/** The audience keeps the unread text below this limit. */
const ROOM_BYTES = 16_777_216;

/** The door for frameworks with Request and Response. */
export async function answerFetch(desk: Desk, request: Request, native: unknown): Promise<Response> {
  const answered = await desk.ask(request, native);
  if (isResponse(answered)) return answered;
  const { status, headers, body, feed } = answered;
  const content = request.method === "HEAD" ? null : (body as string | Uint8Array<ArrayBuffer> | null);
  if (feed === undefined || request.method === "HEAD") return new Response(content, { status, headers });
  return new Response(streamOf(feed, request.signal), { status, headers });
}

function streamOf(begin: NonNullable<Answer["feed"]>, signal: AbortSignal): ReadableStream<Uint8Array> {
  let leave: () => void = () => undefined;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const encoder = new TextEncoder();
        const sink: Sink = {
          write: (text) => controller.enqueue(encoder.encode(text)),
          get unread() {
            return ROOM_BYTES - (controller.desiredSize ?? 0);
          },
          end: () => controller.close(),
          cut: () => controller.error(new Error("the feed has ended")),
        };
        leave = begin(sink);
        signal.addEventListener("abort", leave, { once: true });
      },
      cancel: () => leave(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: ROOM_BYTES }),
  );
}

/** The door for node:http and frameworks built on it. */
export async function answerNode(
  desk: Desk,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const request = requestOf(incoming);
  const answered =
    request === undefined
      ? refusal(400, "this is not a valid request, or it names two hosts")
      : await desk.ask(request, incoming);
  if (response.destroyed || response.headersSent) return;
  const isHead = incoming.method === "HEAD";
  if (isResponse(answered)) return sendResponse(answered, response, isHead);
  const { status, headers, body, feed } = answered;
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (feed === undefined || isHead) {
    response.end(isHead ? null : body);
    return;
  }
  // A connection that stays open after a feed would keep a closing server alive.
  if (incoming.httpVersionMajor === 1) response.setHeader("connection", "close");
  response.flushHeaders();
  const leave = feed({
    write: (text) => void response.write(text),
    get unread() {
      return response.writableLength;
    },
    end: () => void response.end(),
    cut: () => void response.destroy(),
  });
  response.on("close", leave);
  response.on("error", leave);
}

async function sendResponse(from: Response, response: ServerResponse, isHead: boolean): Promise<void> {
  response.statusCode = from.status;
  for (const [name, value] of from.headers) if (name !== "set-cookie") response.setHeader(name, value);
  const cookies = from.headers.getSetCookie();
  if (cookies.length > 0) response.setHeader("set-cookie", cookies);
  response.end(isHead ? null : Buffer.from(await from.arrayBuffer()));
}

/** The request without its body, which is never read; undefined if the request is invalid, or has two hosts. */
function requestOf(incoming: IncomingMessage & { readonly originalUrl?: string }): Request | undefined {
  const { method = "GET", originalUrl = incoming.url ?? "/", socket } = incoming;
  const scheme = "encrypted" in socket && socket.encrypted === true ? "https" : "http";
  const host = hostOf(incoming);
  if (host === undefined) return undefined;
  try {
    const headers = new Headers();
    for (const [name, value] of Object.entries(incoming.headers)) {
      if (name.startsWith(":")) continue;
      for (const each of [value ?? []].flat()) headers.append(name, each);
    }
    // A path may begin with two slashes. Resolved as a relative URL, it would lead to another host.
    const url = new URL(originalUrl.startsWith("/") ? `${scheme}://${host}${originalUrl}` : originalUrl);
    return url.host === new URL(`${scheme}://${host}`).host
      ? new Request(url, { method, headers })
      : undefined;
  } catch {
    return undefined;
  }
}

/**
 * HTTP/2 has `:authority` instead of `Host`. A request with two hosts is refused: `headers` has only the first, but a proxy may have
 * checked the other.
 */
function hostOf({ rawHeaders, headers }: IncomingMessage): string | undefined {
  const { host = headers[":authority"] ?? "localhost" } = headers;
  const all = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === "host");
  const agree = (headers[":authority"] ?? host) === host;
  return all.length < 2 && agree ? String(host) : undefined;
}
