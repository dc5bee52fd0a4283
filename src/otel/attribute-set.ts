import type { Attributes } from "@opentelemetry/api";

/**
 * Attributes that many measurements have. They are made once and frozen, as are those with one more: to copy them for each measurement
 * takes longer than to record it.
 */
export class AttributeSet {
  readonly attributes: Attributes;
  /** By the value of the attribute that they have more. */
  #larger: Map<string, AttributeSet> | undefined;

  constructor(attributes: Attributes) {
    this.attributes = Object.freeze(attributes);
  }

  /**
   * These and one more.
   * @param name always the same for this set
   * @param value one of few, as each is kept
   */
  with(name: string, value: string): AttributeSet {
    this.#larger ??= new Map();
    let larger = this.#larger.get(value);
    if (larger === undefined) {
      larger = new AttributeSet({ ...this.attributes, [name]: value });
      this.#larger.set(value, larger);
    }
    return larger;
  }
}
