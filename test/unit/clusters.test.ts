import { afterEach, describe, expect, test, vi } from "vitest";
import type { Driver } from "../../src/driver/driver.js";
import { Holdfast } from "../../src/holdfast.js";
import { memoryDriver } from "../../src/memory/index.js";
import { hashSlot } from "../../src/protocol/hash-slot.js";

/** A driver that says that it speaks to a cluster. */
function clusterDriver(): Driver {
  const driver = memoryDriver();
  const traits = { server: "redis+cluster://a:1", topology: "cluster", sharded: true } as const;
  return {
    traits,
    resets: 0,
    run: (call, ticket) => driver.run(call, ticket),
    subscribe: (channel, listener) => driver.subscribe(channel, listener),
    close: () => driver.close(),
  };
}

describe("the slot of a key", () => {
  // The first is the example of the specification, the others are answers of CLUSTER KEYSLOT.
  test.each([
    ["123456789", 12_739],
    ["foo", 12_182],
    ["", 0],
    ["{user1000}.following", 3_443],
    ["{user1000}.followers", 3_443],
    ["foo{}{bar}", 8_363],
    ["foo{{bar}}zap", 4_015],
    ["foo{bar}{zap}", 5_061],
    ["bar", 5_061],
    ["grüße", 3_194],
  ])("%j is %d", (key, slot) => expect(hashSlot(key)).toBe(slot));

  describe("is reckoned once", () => {
    const hashed: unknown[] = [];
    const from = Buffer.from.bind(Buffer) as (...given: unknown[]) => Buffer;
    const watch = () =>
      vi.spyOn(Buffer, "from").mockImplementation(((...given: unknown[]) => {
        // The embedded server names an encoding.
        if (given.length === 1) hashed.push(given[0]);
        return from(...given);
      }) as typeof Buffer.from);
    afterEach(() => {
      vi.restoreAllMocks();
      hashed.length = 0;
    });

    test("for all steps of a command, and for all commands of a lock that is in use", async () => {
      const placeOf = (key: string) => String(hashSlot(key));
      const holdfast = new Holdfast({ ...clusterDriver(), placeOf });
      const lock = holdfast.getLock("reckoned");
      watch();
      for (let times = 0; times < 3; times += 1) await (await lock.lock()).unlock();
      expect(hashed.filter((text) => text === "reckoned")).toEqual(["reckoned"]);
      await holdfast.close();
    });

    test("until many others were", () => {
      watch();
      hashSlot("first");
      hashSlot("first");
      for (let other = 0; other < 1_024; other += 1) hashSlot(`other ${other}`);
      hashSlot("first");
      expect(hashed.filter((text) => text === "first")).toEqual(["first", "first"]);
    });
  });
});

describe("in a cluster", () => {
  test.each(["order", "order:7", "{order}:7", "a{b}c", "order:{7}"])(
    "a lock may be named %j",
    async (name) => {
      const holdfast = new Holdfast(clusterDriver());
      expect(holdfast.getLock(name).name).toBe(name);
      await holdfast.close();
    },
  );

  test.each(["a{b", "a}b", "a{}b", "{a}{b}", "{{a}}", "}a{"])(
    "nothing may be named %j: its keys would be spread over slots [wire-A8]",
    async (name) => {
      const holdfast = new Holdfast(clusterDriver());
      const refused = { code: "ERR_HOLDFAST_INVALID_NAME", message: expect.stringContaining(name) };
      expect(() => holdfast.getLock(name)).toThrow(expect.objectContaining(refused));
      expect(() => holdfast.getReadWriteLock(name)).toThrow(expect.objectContaining(refused));
      expect(() => holdfast.getSemaphore(name)).toThrow(expect.objectContaining(refused));
      expect(() => holdfast.getCountDownLatch(name)).toThrow(expect.objectContaining(refused));
      await expect(holdfast.inspect(name)).rejects.toMatchObject(refused);
      await holdfast.close();
    },
  );

  test("what the name mapper makes counts, not the name that the program uses", async () => {
    const holdfast = new Holdfast(clusterDriver(), { nameMapper: (name) => `app{${name}` });
    expect(() => holdfast.getLock("order")).toThrow("app{order");
    await holdfast.close();
  });

  test("a latch has no braces in its name: its channel would lie elsewhere [wire-A8]", async () => {
    const holdfast = new Holdfast(clusterDriver());
    expect(() => holdfast.getCountDownLatch("{order}:7")).toThrow(/latch in a cluster/);
    expect(holdfast.getCountDownLatch("order:7").name).toBe("order:7");
    await holdfast.close();
  });
});

describe("on one server", () => {
  test("names may have any braces", async () => {
    const holdfast = new Holdfast(memoryDriver());
    for (const name of ["a{b", "a}b", "{a}{b}"]) expect(holdfast.getCountDownLatch(name).name).toBe(name);
    await holdfast.close();
  });

  test.each(["sharded", "both"] as const)("there are no messages of the kind: %s", (pubSub) => {
    expect(() => new Holdfast(memoryDriver(), { pubSub })).toThrow(/needs a cluster/);
  });
});

test.each([
  [{ pubSub: "shared" }, /pubSub must be/],
  [{ replicas: { mode: "on" } }, /replicas\.mode must be/],
  [{ replicas: { mode: "require", min: 0 } }, /replicas\.min/],
  [{ replicas: { mode: "require", min: "most" } }, /replicas\.min/],
  [{ replicas: { mode: "auto", min: 1 } }, /replicas\.min needs mode "require"/],
  [{ replicas: { mode: "require", timeoutMs: 1_501 } }, /at most half of commandTimeoutMs/],
  [{ replicas: { mode: "require", timeoutMs: 0 } }, /replicas\.timeoutMs/],
  [{ replicas: { quorum: 1 } }, /no setting "quorum" of replicas/],
  [{ replicas: { mode: "require" } }, /is not possible with this client/],
])("the options %j are refused at once", (options, message) => {
  expect(() => new Holdfast(memoryDriver(), options as object)).toThrow(message);
});
