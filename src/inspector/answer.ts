import type { Refusal } from "./format.js";

/** The target of a feed. */
export interface Sink {
  write(text: string): void;
  /** How many bytes the reader has not taken yet. */
  readonly unread: number;
  /** Ends the feed after the text that was written. */
  end(): void;
  /** Ends the feed at once, even if text is unread. */
  cut(): void;
}

/** The answer to a request, in a form that both doors can send. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | null;
  /** Begins a feed instead of a body. @returns a function that ends the feed when the reader has left */
  readonly feed?: (sink: Sink) => () => void;
}

/** Recognises a response by its method `arrayBuffer`, so that responses of another realm or library count too. */
export function isResponse(value: object | undefined): value is Response {
  return value !== undefined && "arrayBuffer" in value;
}

/**
 * The page loads all scripts and styles from its own server, has no inline code, and must not be framed. Browsers refuse to run text as
 * code.
 */
const SECURITY: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
};

export function answer(
  status: number,
  headers: Readonly<Record<string, string>> = {},
  body: string | Uint8Array | null = null,
): Answer {
  return { status, headers: { ...SECURITY, "cache-control": "no-store", ...headers }, body };
}

export function json(value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Answer {
  const type = { "content-type": "application/json; charset=utf-8" };
  return answer(status, { ...type, ...headers }, JSON.stringify(value));
}

/**
 * Separates this page from the pages that have opened it, by a header that browsers obey only on https and localhost. On plain http to
 * another machine they log a complaint about the header, so it is left out. On plain http they also omit `Sec-Fetch-Site`, which behind a
 * proxy is the only sign of a secure connection.
 */
export function apart(to: Answer, { url, headers }: Request): Answer {
  const isHeeded = url.startsWith("https:") || headers.has("sec-fetch-site");
  return isHeeded ? { ...to, headers: { "cross-origin-opener-policy": "same-origin", ...to.headers } } : to;
}

/** The answer to a refused request, with a reason that the page shows. */
export function refusal(
  status: number,
  error: string,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  const body: Refusal = { error };
  return json(body, status, headers);
}

/** Events over fetch, because an EventSource cannot send headers. Proxies must not keep or change the events. */
export function feed(begin: NonNullable<Answer["feed"]>): Answer {
  const headers = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store, no-transform",
    "x-accel-buffering": "no",
  };
  return { ...answer(200, headers), feed: begin };
}

/** An event of a feed. */
export function eventText(event: string, value: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(value)}\n\n`;
}
