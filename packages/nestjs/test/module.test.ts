import "reflect-metadata";
import { Inject, Injectable, Module } from "@nestjs/common";
import { Test } from "@nestjs/testing";
import { Holdfast } from "holdfast";
import { memoryDriver } from "holdfast/memory";
import { afterEach, describe, expect, test } from "vitest";
import { getHoldfastToken, HoldfastModule, type HoldfastModuleOptions, Locked } from "../src/index.js";

type Metadata = Parameters<typeof Test.createTestingModule>[0];

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function started(metadata: Metadata) {
  const module = await Test.createTestingModule(metadata).compile();
  closers.push(() => module.close());
  return module.init();
}

@Injectable()
class Settings {
  readonly prefix = "billing:";
}

@Module({ providers: [Settings], exports: [Settings] })
class SettingsModule {}

@Injectable()
class Factory {
  readonly made: string[] = [];

  constructor(@Inject(Settings) readonly settings: Settings) {}

  createHoldfastOptions(): HoldfastModuleOptions {
    this.made.push("options");
    return { driver: memoryDriver(), nameMapper: (name) => this.settings.prefix + name };
  }
}

@Module({ imports: [SettingsModule], providers: [Factory], exports: [Factory] })
class FactoryModule {}

describe("registered later", () => {
  const mapper = (settings: Settings) => ({
    driver: memoryDriver(),
    nameMapper: (name: string) => settings.prefix + name,
  });
  test.each([
    ["useFactory", { imports: [SettingsModule], inject: [Settings], useFactory: mapper }],
    ["useClass", { imports: [SettingsModule], useClass: Factory }],
    ["useExisting", { imports: [FactoryModule], useExisting: Factory }],
  ])("its options come from %s", async (_, options) => {
    const module = await started({ imports: [HoldfastModule.forRootAsync(options)] });
    const holdfast = module.get(Holdfast);
    const lease = await holdfast.lock("a");
    expect((await holdfast.inspect("a")).key).toBe("billing:a");
    await lease.unlock();
  });

  test("useExisting asks the class that is there", async () => {
    const module = await started({
      imports: [HoldfastModule.forRootAsync({ imports: [FactoryModule], useExisting: Factory })],
    });
    expect(module.get(Factory, { strict: false }).made).toEqual(["options"]);
  });
});

describe("two clients", () => {
  test("of one name are refused, and say what to do", async () => {
    const twice = [HoldfastModule.forTesting(), HoldfastModule.forTesting()];
    await expect(started({ imports: twice })).rejects.toThrow(
      'HoldfastModule is imported 2 times as Holdfast(default): import it once, or give each client a name, as in { name: "billing" }',
    );
    const named = ["billing", "billing"].map((name) => HoldfastModule.forTesting({ name, isGlobal: false }));
    await expect(started({ imports: named })).rejects.toThrow("Holdfast(billing)");
  });

  test("one module that is imported in two places is one", async () => {
    const locks = HoldfastModule.forTesting({ isGlobal: false });
    @Module({ imports: [locks] })
    class Billing {}
    const module = await started({ imports: [locks, Billing] });
    expect(await module.get(Holdfast).getLock("a").isLocked()).toBe(false);
  });

  test("are closed, each as its options say", async () => {
    const told: string[] = [];
    const module = await started({
      imports: ["a", "b"].map((name) =>
        HoldfastModule.forRoot({ name, driver: memoryDriver(), disconnect: () => told.push(name) }),
      ),
    });
    const clients = ["a", "b"].map((name) => module.get<Holdfast>(getHoldfastToken(name)));
    await module.close();
    expect([clients.map(({ closing }) => closing.aborted), told.sort()]).toEqual([
      [true, true],
      ["a", "b"],
    ]);
  });
});

describe("in tests of an application", () => {
  @Injectable()
  class Orders {
    @Locked((id: string) => `order:${id}`, { onBusy: "throw" })
    async pay(id: string): Promise<string> {
      return id;
    }
  }
  const real = HoldfastModule.forRootAsync({
    useFactory: (): HoldfastModuleOptions => {
      throw new Error("Redis is not for tests");
    },
  });
  @Module({ imports: [real], providers: [Orders] })
  class App {}

  test("overrideModule puts a server inside the process in place of Redis", async () => {
    const module = await Test.createTestingModule({ imports: [App] })
      .overrideModule(real)
      .useModule(HoldfastModule.forTesting())
      .compile();
    closers.push(() => module.close());
    expect(await module.get(Orders).pay("7")).toBe("7");
  });

  test("a client of one's own can stand in its place", async () => {
    const names: string[] = [];
    const lock = { using: async (_: object, body: () => unknown) => body() };
    const getLock = (name: string) => {
      names.push(name);
      return lock;
    };
    const fake = { getLock, close: async () => {} };
    const module = await started({
      imports: [HoldfastModule.forRoot({ holdfast: fake as never })],
      providers: [Orders],
    });
    expect([await module.get(Orders).pay("7"), names]).toEqual(["7", ["order:7"]]);
  });
});

test("a class with a locked method in an application without the module tells which client it needs", async () => {
  @Injectable()
  class Alone {
    @Locked("a", { waitMs: 0, client: "billing" })
    async work(): Promise<void> {}
  }
  await expect(started({ providers: [Alone] })).rejects.toThrow(
    "Holdfast(billing) of HoldfastModule.forRoot()",
  );
});
