import { describe, expect, test } from "vitest";
import { interop, release } from "../support/jvm/interop.js";
import { proves } from "../support/run/proof.js";

const both = interop();
const lock = { kind: "fenced", name: "order:7" } as const;

describe(`Redisson ${release}: tokens of a fenced lock`, () => {
  proves({ kind: "fenced", direction: "both", of: "tokens" });

  test("grow by one with each acquisition on either side, re-entries included", async () => {
    const [jvm, node] = [await both.jvm(), await both.node()];
    const tokens: (bigint | undefined)[] = [];
    for (const user of [jvm, node, node, jvm, node]) {
      tokens.push(await user.lock(lock), await user.lock(lock));
      await user.unlock(lock);
      await user.unlock(lock);
    }
    expect(tokens).toEqual(tokens.map((_, at) => BigInt(at + 1)));
  });
});
