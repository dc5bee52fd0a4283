import type { SimServer } from "./sim-server.js";

/** Who has which slot. */
export class SlotMap {
  readonly #masters: readonly SimServer[];
  /** Those that have moved. */
  readonly #moved: ReadonlyMap<number, SimServer>;

  /** @param masters have the slots by turns */
  constructor(masters: readonly SimServer[], moved: ReadonlyMap<number, SimServer> = new Map()) {
    this.#masters = masters;
    this.#moved = moved;
  }

  ownerOf(slot: number): SimServer {
    const owner = this.#moved.get(slot) ?? this.#masters[slot % this.#masters.length];
    if (owner === undefined) throw new Error(`nobody has slot ${slot}`);
    return owner;
  }

  with(slot: number, owner: SimServer): SlotMap {
    return new SlotMap(this.#masters, new Map([...this.#moved, [slot, owner]]));
  }

  /** Another server has all that one had. */
  replaced(old: SimServer, by: SimServer): SlotMap {
    const other = (server: SimServer) => (server === old ? by : server);
    const moved = new Map([...this.#moved].map(([slot, owner]) => [slot, other(owner)] as const));
    return new SlotMap(this.#masters.map(other), moved);
  }

  get masters(): readonly SimServer[] {
    return this.#masters;
  }

  equals(map: SlotMap): boolean {
    if (map.#masters.some((master, at) => master !== this.#masters[at])) return false;
    const slots = [...this.#moved.keys(), ...map.#moved.keys()];
    return slots.every((slot) => this.ownerOf(slot) === map.ownerOf(slot));
  }
}
