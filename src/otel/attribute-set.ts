import type { Attributes } from "@opentelemetry/api";

/**
 * Attributes that many measurements share. Each set is created once, frozen and kept, also the sets with one more attribute: to copy
 * attributes for each measurement would take longer than to record it.
 */
export class AttributeSet {
  readonly attributes: Attributes;
  /** The larger sets, by the value of their additional attribute. */
  #larger: Map<string, AttributeSet> | undefined;

  constructor(attributes: Attributes) {
    this.attributes = Object.freeze(attributes);
  }

  /**
   * The set with one more attribute.
   * @param name always the same for this set
   * @param value one of a few values, because each is kept
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
