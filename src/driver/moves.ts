/** Those who are told that some keys have another server than before. */
export class Moves {
  readonly #told = new Set<() => void>();

  /** @returns what ends it. Safe twice */
  add(moved: () => void): () => void {
    // The same function may be given twice.
    const own = () => moved();
    this.#told.add(own);
    return () => void this.#told.delete(own);
  }

  tell(): void {
    for (const moved of [...this.#told]) moved();
  }
}
