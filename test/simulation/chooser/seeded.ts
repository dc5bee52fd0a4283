import type { Chooser } from "./chooser.js";
import { type Draw, recording } from "./recording.js";

/** From here on the remainder of a 32-bit number would favour the small ones by more than one in a thousand. */
const NEEDS_MORE_BITS = 2 ** 22;

/** The first numbers of sfc32 still resemble its seed. */
const WARM_UP = 12;

/** A chooser that draws the same numbers for the same seed, on any release of Node. */
export function seededChooser(seed: number): Chooser {
  if (!Number.isSafeInteger(seed) || seed < 0) {
    throw new RangeError(`a seed is a whole number from 0 to ${Number.MAX_SAFE_INTEGER}, got ${seed}`);
  }
  return recording((name) => seededDraw(seed, name));
}

function seededDraw(seed: number, name: string): Draw {
  const next = sfc32(seedWords(seed, name));
  return (count) => {
    if (count < NEEDS_MORE_BITS) return next() % count;
    const high = next() >>> 11;
    return (high * 2 ** 32 + next()) % count;
  };
}

type Words = readonly [number, number, number, number];

/** 128 bits of which each hangs on each bit of the seed and of the name. Mixing: MurmurHash3, its 32-bit finalizer. */
function seedWords(seed: number, name: string): Words {
  let state = mixed(seed >>> 0) ^ Math.imul(Math.floor(seed / 2 ** 32), 0x85ebca6b);
  for (let at = 0; at < name.length; at += 1) {
    state = mixed((state ^ name.charCodeAt(at)) + 0x9e3779b9);
  }
  const word = () => {
    state = (state + 0x9e3779b9) | 0;
    return mixed(state);
  };
  // The state above has 32 bits: the words take the seed in once more, or two of 2^53 seeds would often share a stream.
  return [
    word() ^ mixed(seed >>> 0),
    word() ^ mixed(Math.floor(seed / 2 ** 32) + name.length),
    word(),
    word() | 1,
  ];
}

function mixed(word: number): number {
  let bits = word | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}

/** Chris Doty-Humphrey's small fast counting generator, as in PractRand: 32-bit numbers, unsigned. */
function sfc32([first, second, third, fourth]: Words): () => number {
  let a = first | 0;
  let b = second | 0;
  let c = third | 0;
  let counter = fourth | 0;
  const next = () => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 0;
  };
  for (let round = 0; round < WARM_UP; round += 1) next();
  return next;
}
