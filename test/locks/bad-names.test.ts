import { afterAll, describe, expect, test } from "vitest";
import { Holdfast, type HoldfastOptions, InvalidNameError } from "../../src/index.js";
import { MemoryServer, memoryDriver } from "../../src/memory/index.js";

const opened: Holdfast[] = [];
afterAll(() => Promise.all(opened.map((client) => client.close())));

function open(options: HoldfastOptions = {}): Holdfast {
  const client = new Holdfast(memoryDriver(new MemoryServer()), options);
  opened.push(client);
  return client;
}

const factories: readonly (readonly [string, (client: Holdfast, name: string) => unknown])[] = [
  ["getLock", (client, name) => client.getLock(name)],
  ["getNonReentrantLock", (client, name) => client.getNonReentrantLock(name)],
  ["getFairLock", (client, name) => client.getFairLock(name)],
  ["getNonReentrantFairLock", (client, name) => client.getNonReentrantFairLock(name)],
  ["getSpinLock", (client, name) => client.getSpinLock(name)],
  ["getFencedLock", (client, name) => client.getFencedLock(name)],
  ["getReadWriteLock", (client, name) => client.getReadWriteLock(name)],
  ["getSemaphore", (client, name) => client.getSemaphore(name)],
  ["getPermitExpirableSemaphore", (client, name) => client.getPermitExpirableSemaphore(name)],
  ["getCountDownLatch", (client, name) => client.getCountDownLatch(name)],
  ["inspect", (client, name) => client.inspect(name)],
];

describe.each(factories)("%s", (_name, of) => {
  test.each(["order:\ud83d", "\ude00", "\ude00\ud83d", "a\udc00b"])(
    "refuses a name with an unpaired surrogate [own-18]",
    async (name) => {
      const call = async () => of(open(), name);
      await expect(call()).rejects.toBeInstanceOf(InvalidNameError);
      // The text itself is well-formed: logs and JSON have to carry it.
      await expect(call()).rejects.toThrow(JSON.stringify(name));
    },
  );

  test("refuses what a name mapper has cut in the middle of a character", async () => {
    const client = open({ nameMapper: (name) => name.slice(0, 1) });
    await expect((async () => of(client, "😀"))()).rejects.toThrow(
      /the name mapper's result for "😀" .*unpaired surrogate/,
    );
  });

  test("takes a name with characters of two code units", async () => {
    await expect((async () => of(open(), "order:😀"))()).resolves.toHaveProperty("name", "order:😀");
  });
});

describe("the option clock", () => {
  const { monotonicMs, wallMs } = { monotonicMs: () => 0, wallMs: () => 0 };
  const wrong: readonly unknown[] = [
    {},
    5,
    null,
    "now",
    Date,
    { monotonicMs, wallMs },
    { monotonicMs, wallMs, schedule: 1 },
  ];
  test.each(wrong.map((clock) => [clock]))("that is %j is refused by its name", (clock) => {
    const call = () => open({ clock } as HoldfastOptions);
    expect(call).toThrow(TypeError);
    expect(call).toThrow(/^clock must /);
  });
});
