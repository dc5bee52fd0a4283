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

/** How to answer a request, for each of the two doors. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | null;
  /** Begins a feed instead of a body. @returns a function that ends the feed when the reader has left */
  readonly feed?: (sink: Sink) => () => void;
}

/** Recognises a response by its body, also a response of another realm or library. */
export function isResponse(value: object | undefined): value is Response {
  return value !== undefined && "arrayBuffer" in value;
}

/** The page loads all scripts and styles from its own server, has no inline code, and must not be framed. Text never becomes code. */
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
 * Separates this page from the pages that have opened it. Browsers obey this header only if the connection is secure, and complain about it
 * otherwise: on plain http to another machine. Only then they omit `Sec-Fetch-Site`, and behind a proxy no other sign shows it.
 */
export function apart(to: Answer, { url, headers }: Request): Answer {
  const isHeeded = url.startsWith("https:") || headers.has("sec-fetch-site");
  return isHeeded ? { ...to, headers: { "cross-origin-opener-policy": "same-origin", ...to.headers } } : to;
}

/** The error, for the page to show. */
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
