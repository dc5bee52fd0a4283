import { describe, expect, test } from "vitest";
import { unmapping } from "../../src/finding/unmapped-name.js";

describe("the name of a key", () => {
  test("is the key without a mapper, and with one that changes more than what stands before", () => {
    for (const mapper of [
      (name: string) => name,
      (name: string) => `{${name}}`,
      (name: string) => `app:${name.toUpperCase()}`,
      (name: string) => `${name}:${name}`,
      (name: string) => (name.startsWith("x") ? `b:${name}` : `a:${name}`),
    ])
      expect(unmapping(mapper)("app:order:7")).toBe("app:order:7");
  });

  test("lacks what a mapper puts before each name", () => {
    const nameOf = unmapping((name) => `{app}:${name}`);
    expect(nameOf("{app}:order:7")).toBe("order:7");
    expect(nameOf("{app}:{app}:x")).toBe("{app}:x");
    expect(nameOf("other:order:7")).toBe("other:order:7");
    expect(nameOf("{app}:")).toBe("{app}:");
  });

  test("is the key where the mapper refuses the name, or makes another key of it", () => {
    const picky = (name: string) => {
      if (name === "secret") throw new Error("no such name");
      return name === "odd" ? "elsewhere" : `app:${name}`;
    };
    const nameOf = unmapping(picky);
    expect(nameOf("app:order")).toBe("order");
    expect(nameOf("app:secret")).toBe("app:secret");
    expect(nameOf("app:odd")).toBe("app:odd");
    expect(
      unmapping(() => {
        throw new Error("none");
      })("a"),
    ).toBe("a");
  });
});
