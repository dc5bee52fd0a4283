import type { Attributes } from "@opentelemetry/api";

/**
 * Attributes that many measurements share. Each set is created once, frozen and kept. The sets with one more attribute are kept too:
 * copying attributes takes longer than recording a measurement.
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
