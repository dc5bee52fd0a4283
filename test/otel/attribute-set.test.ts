import { expect, test } from "vitest";
import { AttributeSet } from "../../src/otel/attribute-set.js";

test("attributes that measurements have in common are made once, and stay as they are", () => {
  const lock = new AttributeSet({ kind: "lock" });
  const released = lock.with("end", "released");
  const { attributes } = released.with("via", "free");
  expect(attributes).toEqual({ kind: "lock", end: "released", via: "free" });
  expect(lock.with("end", "released").with("via", "free").attributes).toBe(attributes);
  expect(lock.with("end", "lost").attributes).toEqual({ kind: "lock", end: "lost" });
  expect(lock.attributes).toEqual({ kind: "lock" });
  for (const { attributes: each } of [lock, released]) expect(Object.isFrozen(each)).toBe(true);
});
