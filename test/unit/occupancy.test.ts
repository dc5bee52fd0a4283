import { describe, expect, test } from "vitest";
import { Occupancy } from "../../src/threads/occupancy.js";

describe("how many stays are in a lock", () => {
  test("is known of each lock, also when many others have come and gone", () => {
    const occupancy = new Occupancy();
    for (const id of ["a", "b", "b"]) occupancy.entered(id);
    for (let i = 0; i < 1_000; i += 1) {
      occupancy.entered(`lock:${i}`);
      expect(occupancy.of(`lock:${i}`)).toBe(1);
      occupancy.left(`lock:${i}`);
      expect(["a", "b", `lock:${i}`].map((id) => occupancy.of(id))).toEqual([1, 2, 0]);
    }
    for (const id of ["a", "b", "b"]) occupancy.left(id);
    expect(["a", "b"].map((id) => occupancy.of(id))).toEqual([0, 0]);
    occupancy.entered("b");
    expect(occupancy.of("b")).toBe(1);
  });
});
