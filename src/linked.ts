/**
 * An element of at most one {@link Ring}. For elements that come and go with each call a ring is better than a Set. A Set copies its table
 * every few changes, and each old copy keeps the next copy alive, with all its elements.
 */
export class Link {
  /** Itself when in no ring. */
  declare next: Link;
  declare previous: Link;

  /** Assigned here, as field initializers are slow in a class with many subclasses. */
  constructor() {
    this.next = this;
    this.previous = this;
  }

  get isLinked(): boolean {
    return this.next !== this;
  }

  /** Takes the link out of its ring. Harmless when it is not in a ring. */
  unlink(): void {
    this.previous.next = this.next;
    this.next.previous = this.previous;
    this.next = this;
    this.previous = this;
  }
}

/** Links in the order in which they were added. */
export class Ring<T extends Link> {
  readonly #head = new Link();

  get isEmpty(): boolean {
    return !this.#head.isLinked;
  }

  get first(): T | undefined {
    return this.isEmpty ? undefined : (this.#head.next as T);
  }

  /** Appends an element that is not in a ring. */
  add(link: T): void {
    const head = this.#head;
    link.previous = head.previous;
    link.next = head;
    head.previous.next = link;
    head.previous = link;
  }

  /** Prepends an element that is not in a ring. */
  addFirst(link: T): void {
    const head = this.#head;
    link.previous = head;
    link.next = head.next;
    head.next.previous = link;
    head.next = link;
  }

  /** The loop body may unlink the link that it got. It must not unlink the next link, which is read before the body runs. */
  *[Symbol.iterator](): Iterator<T> {
    for (let link = this.#head.next; link !== this.#head; ) {
      const { next } = link;
      yield link as T;
      link = next;
    }
  }
}
