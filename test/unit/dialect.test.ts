import { describe, expect, test } from "vitest";
import { publishing } from "../../src/protocol/dialect.js";
import { sources } from "../support/all-scripts.js";

const publishers = Object.values(sources).filter(({ lua }) => lua.includes('"PUBLISH"'));

describe("in a cluster with sharded messages", () => {
  test("most scripts publish", () => {
    expect(publishers.length).toBeGreaterThan(15);
  });

  test.each(publishers.map((source) => [source.name, source] as const))("%s sends SPUBLISH", (_, source) => {
    const classic = /redis\.pcall\("PUBLISH", (\w+), (\w+)\)/.exec(source.lua)?.[0] ?? "";
    const sharded = classic.replace("PUBLISH", "SPUBLISH");
    expect(publishing(source, "sharded").lua).toBe(source.lua.replace(classic, sharded));
    expect(publishing(source, "sharded").lua).not.toContain('"PUBLISH"');
    expect(publishing(source, "both").lua).toBe(source.lua.replace(classic, `${classic} ${sharded}`));
  });

  test("a script that tells nothing is what it was", () => {
    expect(publishing(sources["server-probe"], "sharded")).toBe(sources["server-probe"]);
  });
});
