import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Link, Ring } from "../../src/linked.js";

class Numbered extends Link {
  readonly number: number;

  constructor(number: number) {
    super();
    this.number = number;
  }
}

const numbers = (ring: Ring<Numbered>) => [...ring].map(({ number }) => number);

describe("a ring", () => {
  test("does what a list does, whatever is added and taken out", () => {
    const steps = fc.array(fc.record({ adds: fc.boolean(), at: fc.nat(20) }), { maxLength: 60 });
    fc.assert(
      fc.property(steps, (history) => {
        const ring = new Ring<Numbered>();
        const model: Numbered[] = [];
        for (const [number, { adds, at }] of history.entries()) {
          const link = new Numbered(number);
          if (adds) {
            ring.add(link);
            model.push(link);
          } else {
            model.splice(at, 1)[0]?.unlink();
          }
          expect([numbers(ring), ring.isEmpty, ring.first]).toEqual([
            model.map((one) => one.number),
            model.length === 0,
            model[0],
          ]);
        }
      }),
    );
  });

  test("lets each be taken out while it is looked at", () => {
    const ring = new Ring<Numbered>();
    for (const number of [1, 2, 3]) ring.add(new Numbered(number));
    const seen: number[] = [];
    for (const link of ring) {
      seen.push(link.number);
      link.unlink();
    }
    expect([seen, numbers(ring)]).toEqual([[1, 2, 3], []]);
  });
});

describe("a link", () => {
  test("knows whether it is in a ring, and may be taken out twice", () => {
    const ring = new Ring<Numbered>();
    const link = new Numbered(1);
    expect(link.isLinked).toBe(false);
    link.unlink();
    ring.add(link);
    expect(link.isLinked).toBe(true);
    link.unlink();
    link.unlink();
    expect([link.isLinked, ring.isEmpty]).toEqual([false, true]);
  });
});
