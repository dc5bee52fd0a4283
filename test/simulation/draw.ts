import type { Stream } from "./chooser/chooser.js";

/** One of a list, of which the first is the plainest. */
export function pick<T>(stream: Stream, list: readonly [T, ...T[]]): T {
  const [first] = list;
  return list[stream.choose(list.length)] ?? first;
}

/** True once in so many times. */
export function oneIn(stream: Stream, times: number): boolean {
  return stream.choose(times) === times - 1;
}

/** A whole number of a range, both ends included; the least is the plainest. */
export function between(stream: Stream, least: number, most: number): number {
  return least + stream.choose(most - least + 1);
}
