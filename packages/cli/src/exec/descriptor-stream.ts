import { write } from "node:fs";
import type { Stream } from "../output.js";

/** If the reader stops reading, at most this many texts are kept; further texts are dropped. */
const MOST_TEXTS = 100;
const RETRY_MS = 20;

/**
 * Writes to a descriptor without blocking the event loop. The command shares stderr with holdfast and may have made stderr blocking: a full
 * pipe would then delay the timers that end the command in time.
 */
export class DescriptorStream implements Stream {
  readonly #descriptor: number;
  #waiting: string[] = [];
  #writing: Promise<void> | undefined;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  write(text: string): void {
    if (this.#waiting.length < MOST_TEXTS) this.#waiting.push(text);
    this.#writing ??= this.#writeAll();
  }

  /** Resolves when all text has been written, or can never be written. */
  async drained(): Promise<void> {
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    for (let text = this.#waiting.shift(); text !== undefined; text = this.#waiting.shift()) {
      await this.#writeOne(Buffer.from(text));
    }
    this.#writing = undefined;
  }

  async #writeOne(bytes: Buffer): Promise<void> {
    for (let from = 0; from < bytes.length; ) {
      const written = await new Promise<number | "later" | "never">((resolve) => {
        write(this.#descriptor, bytes, from, (error, count) => {
          if (error === null) resolve(count);
          else resolve(error.code === "EAGAIN" ? "later" : "never");
        });
      });
      // If the reader is gone, holdfast must still watch the command.
      if (written === "never") return;
      if (written === "later") await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      else from += written;
    }
  }
}
