/** What a stream of the Redis protocol (RESP2 and RESP3) has brought so far: whole frames, and the rest. */
export interface Frames {
  readonly frames: readonly Buffer[];
  readonly rest: Buffer;
}

/** Cuts bytes into frames: requests of a client, or replies and messages of a server. */
export function splitFrames(bytes: Buffer): Frames {
  const frames: Buffer[] = [];
  let start = 0;
  for (let end = endOfFrame(bytes, start); end !== undefined; end = endOfFrame(bytes, start)) {
    frames.push(bytes.subarray(start, end));
    start = end;
  }
  return { frames, rest: bytes.subarray(start) };
}

/** True for what a server sends unasked: the messages of channels. */
export function isMessage(frame: Buffer): boolean {
  return /^[>*]\d+\r\n\$\d+\r\np?s?message\r\n/.test(frame.subarray(0, 40).toString("latin1"));
}

const lineFrames = "+-:,#_(";
const blobFrames = "$!=";
const listFrames = "*~>";
const pairFrames = "%|";

/** Where the frame that begins at `start` ends; undefined while a part of it is missing. */
function endOfFrame(bytes: Buffer, start: number): number | undefined {
  const lineEnd = bytes.indexOf("\r\n", start, "latin1");
  if (lineEnd < 0) return undefined;
  const type = String.fromCharCode(bytes[start] ?? 0);
  const afterLine = lineEnd + 2;
  if (lineFrames.includes(type)) return afterLine;
  const size = Number(bytes.toString("latin1", start + 1, lineEnd));
  if (blobFrames.includes(type)) {
    const end = size < 0 ? afterLine : afterLine + size + 2;
    return end <= bytes.length ? end : undefined;
  }
  if (listFrames.includes(type)) return endOfItems(bytes, afterLine, size);
  if (pairFrames.includes(type)) return endOfItems(bytes, afterLine, 2 * size);
  // An inline command, as typed into a terminal.
  return afterLine;
}

function endOfItems(bytes: Buffer, start: number, count: number): number | undefined {
  let end: number | undefined = start;
  for (let item = 0; item < count && end !== undefined; item += 1) end = endOfFrame(bytes, end);
  return end;
}
