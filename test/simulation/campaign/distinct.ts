/** Up to so many are counted one by one; eight bytes each, in a table that is at most half full. */
const MOST_EXACT = 4_000_000;
const FIRST_SLOTS = 1 << 16;
const REGISTER_BITS = 14;

/** Counts different texts, of which there may be more than fit in memory: exactly at first, then by a HyperLogLog. */
export class Distinct {
  #slots = new Float64Array(FIRST_SLOTS);
  #exact = 0;
  readonly #mostExact: number;
  readonly #registers = new Uint8Array(1 << REGISTER_BITS);

  constructor(mostExact: number = MOST_EXACT) {
    this.#mostExact = mostExact;
  }

  get isExact(): boolean {
    return this.#exact <= this.#mostExact;
  }

  get count(): number {
    return this.isExact ? this.#exact : Math.round(this.#estimate());
  }

  add(text: string): void {
    const [low, high] = hash(text);
    const register = low >>> (32 - REGISTER_BITS);
    const rank = Math.clz32(high) + 1;
    if (rank > (this.#registers[register] ?? 0)) this.#registers[register] = rank;
    if (this.isExact) this.#remember(low + (high >>> 11) * 2 ** 32 || 1);
  }

  #remember(number: number): void {
    if (2 * this.#exact >= this.#slots.length) this.#grow();
    if (!put(this.#slots, number)) return;
    this.#exact += 1;
    if (!this.isExact) this.#slots = new Float64Array(0);
  }

  #grow(): void {
    const larger = new Float64Array(2 * this.#slots.length);
    for (const number of this.#slots) if (number !== 0) put(larger, number);
    this.#slots = larger;
  }

  /** Flajolet et al. 2007. The standard error is 1.04 / sqrt(registers), 0.8 %. */
  #estimate(): number {
    const { length } = this.#registers;
    const sum = this.#registers.reduce((total, rank) => total + 2 ** -rank, 0);
    return ((0.7213 / (1 + 1.079 / length)) * length * length) / sum;
  }
}

/** @returns whether it is new. 0 is an empty slot. */
function put(slots: Float64Array, number: number): boolean {
  const mask = slots.length - 1;
  for (let at = number & mask; ; at = (at + 1) & mask) {
    if (slots[at] === number) return false;
    if (slots[at] === 0) {
      slots[at] = number;
      return true;
    }
  }
}

/** Two independent words. Mixing: MurmurHash3, its 32-bit finalizer, after each character. */
function hash(text: string): readonly [low: number, high: number] {
  let low = 0x9e3779b9;
  let high = 0x85ebca6b ^ text.length;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul((high << 13) | (high >>> 19), 5) + 0xe6546b64 + code;
  }
  return [mixed(low) >>> 0, mixed(high ^ Math.imul(low, 0xc2b2ae35)) >>> 0];
}

function mixed(word: number): number {
  let bits = word | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}
