import type { Holdfast } from "../index.js";
import type { LockDetail } from "./format.js";
import type { Picture } from "./picture.js";

/** Reads the permits of a semaphore one by one. Rows do not list them, because the ends of their leases change all the time. */
export class PermitsSeen {
  readonly #holdfast: Holdfast;
  readonly #picture: Picture;

  constructor(holdfast: Holdfast, picture: Picture) {
    this.#holdfast = holdfast;
    this.#picture = picture;
  }

  /** @returns null if they cannot be read; undefined if there are none. Never rejects */
  async of(key: string): Promise<LockDetail["permits"]> {
    const { kind, name } = this.#picture.lock(key) ?? {};
    if (kind !== "permit-expirable-semaphore" || name === undefined) return undefined;
    try {
      const { key: found, taken } = await this.#holdfast.inspect(name);
      return found === key ? (taken ?? []) : null;
    } catch {
      return null;
    }
  }
}
