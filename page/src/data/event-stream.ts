export interface StreamMessage {
  readonly event: string;
  readonly data: string;
}

/** A server that never ends a line would fill the memory of the tab. */
const LONGEST_MESSAGE = 64 * 1024 * 1024;

/** Reads `text/event-stream`, which arrives in pieces. */
export class EventStreamReader {
  readonly #decoder = new TextDecoder();
  #rest = "";
  #event = "";
  #data: string[] = [];
  #length = 0;

  /** @returns the messages that the piece has completed */
  read(piece: Uint8Array): StreamMessage[] {
    const lines = (this.#rest + this.#decoder.decode(piece, { stream: true })).split("\n");
    this.#rest = lines.pop() ?? "";
    const messages = lines.flatMap((line) => this.#line(line.endsWith("\r") ? line.slice(0, -1) : line));
    if (this.#rest.length + this.#length > LONGEST_MESSAGE) throw new RangeError("a message is too long");
    return messages;
  }

  #line(line: string): StreamMessage[] {
    if (line === "") return this.#end();
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
    if (field === "event") this.#event = value;
    if (field === "data") {
      this.#data.push(value);
      this.#length += value.length;
    }
    return [];
  }

  #end(): StreamMessage[] {
    const message = { event: this.#event || "message", data: this.#data.join("\n") };
    const isEmpty = this.#data.length === 0;
    this.#event = "";
    this.#data = [];
    this.#length = 0;
    return isEmpty ? [] : [message];
  }
}
