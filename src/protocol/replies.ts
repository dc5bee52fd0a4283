import type { RawReply } from "./script-call.js";

/** Readers of raw replies. They throw on a reply of another shape: no script returns such a reply, so it shows a bug. */
export function integer(raw: RawReply | undefined): number {
  // An integer that a number cannot represent exactly is rounded: for example, any program may set a TTL of 200 million years.
  if (typeof raw !== "number" || !Number.isInteger(raw)) throw unexpected("an integer", raw);
  return raw;
}

export function text(raw: RawReply | undefined): string {
  if (typeof raw !== "string") throw unexpected("a string", raw);
  return raw;
}

export function textOrNull(raw: RawReply | undefined): string | null {
  return raw === null || raw === undefined ? null : text(raw);
}

export function list(raw: RawReply | undefined): readonly RawReply[] {
  if (raw === null || typeof raw !== "object") throw unexpected("a list", raw);
  return raw;
}

export function unexpected(wanted: string, raw: RawReply | undefined): Error {
  return new TypeError(`a script answered ${JSON.stringify(raw)} where ${wanted} was expected`);
}
