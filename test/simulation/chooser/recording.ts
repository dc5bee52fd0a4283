import type { Chooser, Stream } from "./chooser.js";

/** Draws a whole number from 0 to `count` - 1. */
export type Draw = (count: number) => number;

/** A chooser that writes down what `drawFrom(name)` draws for the stream of that name. */
export function recording(drawFrom: (name: string) => Draw): Chooser {
  const streams = new Map<string, Stream>();
  const made: Record<string, number[]> = {};
  return {
    made,
    stream(name) {
      const known = streams.get(name);
      if (known !== undefined) return known;
      const chosen: number[] = [];
      // A plain assignment to a name such as "__proto__" would set something else.
      Object.defineProperty(made, name, { value: chosen, enumerable: true });
      const stream = new RecordingStream(drawFrom(name), chosen);
      streams.set(name, stream);
      return stream;
    },
  };
}

class RecordingStream implements Stream {
  constructor(
    private readonly draw: Draw,
    private readonly chosen: number[],
  ) {}

  choose(count: number): number {
    if (!Number.isSafeInteger(count) || count < 1) {
      throw new RangeError(`choose() needs a whole number of choices, at least 1, got ${count}`);
    }
    const choice = this.draw(count);
    this.chosen.push(choice);
    return choice;
  }
}
