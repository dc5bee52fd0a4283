import type { Refusal } from "./format.js";

/** Where a feed is written to. */
export interface Sink {
  write(text: string): void;
  /** How many bytes the other side has not taken yet. */
  readonly unread: number;
  /** Ends it after the text that was written. */
  end(): void;
  /** Ends it at once, whatever is unread. */
  cut(): void;
}

/** What a request is answered by, for each of the two doors. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | null;
  /** Begins a feed instead of a body. @returns a function that ends the feed when the other side has left */
  readonly feed?: (sink: Sink) => () => void;
}

/** Tells a response from all else, also one of another realm or library, by its body. */
export function isResponse(value: object | undefined): value is Response {
  return value !== undefined && "arrayBuffer" in value;
}

/** Nothing of the page comes from elsewhere, is written in it, or may be framed; no text becomes code. */
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
 * Keeps pages that have opened this one from it. Browsers heed that only where nothing on the way can change the answer, and complain of
 * it elsewhere: on plain http to another machine. There alone they send no `Sec-Fetch-Site`; behind a proxy nothing else tells.
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

/** Events over fetch, since an EventSource can send no header. Nothing in between may keep or change them. */
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
