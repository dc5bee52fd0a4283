import { EventEmitter } from "node:events";
import type { Input } from "../../src/command.js";

/** A terminal at which this is typed as soon as it is listened to. */
export function typing(text: string): Input {
  const events = new EventEmitter();
  return Object.assign(events, {
    isTTY: true,
    resume() {
      for (const part of text) events.emit("data", part);
      events.emit("end");
    },
    pause: () => undefined,
  });
}
