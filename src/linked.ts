/**
 * What can stand in one {@link Ring}. For what comes and goes with each call a ring is better than a Set: that copies its table
 * every few changes, and each copy that has grown old keeps alive the next one, with all that is in it.
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

  /** Takes it out of its ring. Harmless when it is in none. */
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

  /** Appends an element that is in no ring. */
  add(link: T): void {
    const head = this.#head;
    link.previous = head.previous;
    link.next = head;
    head.previous.next = link;
    head.previous = link;
  }

  /** Prepends an element that is in no ring. */
  addFirst(link: T): void {
    const head = this.#head;
    link.previous = head;
    link.next = head.next;
    head.next.previous = link;
    head.next = link;
  }

  /** The loop body may unlink the link that it got. It must not unlink the next one, which is read before the body runs. */
  *[Symbol.iterator](): Iterator<T> {
    for (let link = this.#head.next; link !== this.#head; ) {
      const { next } = link;
      yield link as T;
      link = next;
    }
  }
}
