import { afterEach, describe, expect, it, vi } from "vitest";
import { environment } from "../../src/environment.js";
import { invariant } from "../../src/invariant.js";
import { Occupancy } from "../../src/threads/occupancy.js";

describe("what has to be so in a right program", () => {
  afterEach(() => vi.restoreAllMocks());

  it("is let pass where it is", () => {
    const warn = vi.spyOn(environment, "warn");
    expect(() => invariant(true, "one is two")).not.toThrow();
    expect(warn).not.toHaveBeenCalled();
  });

  it("is told as a bug where it is not, also to those who never see the error", () => {
    const warn = vi.spyOn(environment, "warn").mockReturnValue();
    expect(() => invariant(false, "one is two")).toThrow("bug in holdfast: one is two");
    expect(warn).toHaveBeenCalledExactlyOnceWith("bug in holdfast: one is two", "HoldfastWarning");
  });

  it("stops the step that breaks it", () => {
    vi.spyOn(environment, "warn").mockReturnValue();
    const occupancy = new Occupancy();
    occupancy.entered("a");
    occupancy.left("a");
    expect(() => occupancy.left("a")).toThrow("a lock has less than no stays");
  });
});
