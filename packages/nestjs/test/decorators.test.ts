import "reflect-metadata";
import {
  Controller,
  Get,
  type INestApplication,
  Inject,
  Injectable,
  Param,
  Scope,
  SetMetadata,
  UseFilters,
} from "@nestjs/common";
import { HttpAdapterHost, Reflector } from "@nestjs/core";
import { ExecutionContextHost } from "@nestjs/core/helpers/execution-context-host.js";
import { Test } from "@nestjs/testing";
import type { Lock } from "holdfast";
import { ClientClosedError, Holdfast } from "holdfast";
import { afterEach, describe, expect, test } from "vitest";
import {
  getHoldfastToken,
  HoldfastExceptionFilter,
  HoldfastModule,
  InjectHoldfast,
  InjectLock,
  Locked,
  RunOnce,
} from "../src/index.js";

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const Summary = (text: string) => SetMetadata("summary", text);

async function appWith(
  parts: Parameters<typeof Test.createTestingModule>[0],
  prepare: (app: INestApplication) => unknown = () => {},
) {
  const made = await Test.createTestingModule({
    ...parts,
    imports: [HoldfastModule.forTesting(), ...(parts.imports ?? [])],
  }).compile();
  const app = made.createNestApplication();
  prepare(app);
  await app.init();
  closers.push(() => app.close());
  return app;
}

/** What holds a lock while its method runs. */
const heldNow = (holdfast: Holdfast, name: string) => holdfast.getLock(name).isLocked();

@Injectable()
class Orders {
  constructor(@InjectHoldfast() readonly holdfast: Holdfast) {}

  @Locked((id: string) => `order:${id}`, { waitMs: 5_000 })
  @Summary("pays")
  async pay(id: string, amount: number): Promise<[boolean, number]> {
    return [await heldNow(this.holdfast, `order:${id}`), amount];
  }

  @Summary("moves")
  @Locked((from: string, to: string) => [from, to], { onBusy: "throw" })
  async move(from: string, to: string): Promise<boolean[]> {
    return Promise.all([from, to].map((name) => heldNow(this.holdfast, name)));
  }

  @Locked("all", { onBusy: "skip" })
  async count(): Promise<number | undefined> {
    return 7;
  }
}

@Injectable()
class SpecialOrders extends Orders {
  @Locked("special", { waitMs: 0 })
  async special(): Promise<boolean> {
    return heldNow(this.holdfast, "special");
  }
}

describe("@Locked", () => {
  test("runs methods of providers under their locks, and keeps what other decorators say, in both orders", async () => {
    const app = await appWith({ providers: [Orders] });
    const orders = app.get(Orders);
    expect(await orders.pay("7", 40)).toEqual([true, 40]);
    expect(await orders.move("a", "b")).toEqual([true, true]);
    expect(await heldNow(orders.holdfast, "order:7")).toBe(false);
    const reflector = app.get(Reflector);
    expect([reflector.get("summary", orders.pay), reflector.get("summary", orders.move)]).toEqual([
      "pays",
      "moves",
    ]);
    expect([orders.pay.name, orders.count.name]).toEqual(["pay", "count"]);
  });

  test("waits, throws or skips while somebody else has the lock", async () => {
    const orders = (await appWith({ providers: [Orders] })).get(Orders);
    const leases = await Promise.all(["a", "all"].map((name) => orders.holdfast.lock(name)));
    await expect(orders.move("a", "b")).rejects.toMatchObject({ code: "ERR_HOLDFAST_WAIT_TIMEOUT" });
    expect(await orders.count()).toBeUndefined();
    await Promise.all(leases.map((lease) => lease.unlock()));
    expect(await orders.count()).toBe(7);
  });

  test("works in subclasses, and in request-scoped providers", async () => {
    @Injectable({ scope: Scope.REQUEST })
    class PerRequest {
      @InjectHoldfast() readonly holdfast!: Holdfast;

      @Locked("request", { waitMs: 0 })
      async work(): Promise<boolean> {
        return heldNow(this.holdfast, "request");
      }
    }
    const app = await appWith({ providers: [SpecialOrders, PerRequest] });
    const special = app.get(SpecialOrders);
    expect([await special.special(), await special.pay("1", 2)]).toEqual([true, [true, 2]]);
    expect(await (await app.resolve(PerRequest)).work()).toBe(true);
  });

  test("tells a class that Nest has not made what is missing", async () => {
    const orders = new Orders(undefined as never);
    await expect(orders.pay("7", 40)).rejects.toThrow("HoldfastModule is not imported");
  });
});

describe("@RunOnce", () => {
  test("runs one of two processes' methods at a time of the schedule, by the name of class and method", async () => {
    let runs = 0;
    class Reports {
      @RunOnce({ gridMs: 3_600_000 })
      async nightly(): Promise<string> {
        runs += 1;
        return "done";
      }
    }
    Injectable()(Reports);
    const app = await appWith({ providers: [Reports] });
    const reports = app.get(Reports);
    const first = await reports.nightly();
    const holdfast = app.get<Holdfast>(getHoldfastToken());
    expect([first, await reports.nightly(), runs]).toEqual(["done", undefined, 1]);
    expect(holdfast).toBe(app.get(Holdfast));
  });
});

test.each([
  ["a method with arguments", async (_id: string) => {}],
  ["what is no method", 7],
])("@RunOnce refuses %s", (_, value) => {
  class Reports {}
  const decorate = RunOnce({ gridMs: 1_000 }) as MethodDecorator;
  expect(() => decorate(Reports.prototype, "nightly", { value } as TypedPropertyDescriptor<unknown>)).toThrow(
    new TypeError(
      "RunOnce is for methods without arguments, which a scheduler calls: Reports.nightly is not such a method",
    ),
  );
});

describe("what is wrong is told where it is written, with the class and the method", () => {
  const decorating = (decorate: unknown, body: unknown = async () => {}) => {
    class Orders {}
    return () =>
      (decorate as MethodDecorator)(Orders.prototype, "pay", {
        value: body,
      } as TypedPropertyDescriptor<unknown>);
  };
  const options = (given: unknown) => given as { waitMs: number };

  test.each([
    [undefined, 'locked needs waitMs or onBusy, as in { waitMs: 5_000 } or { onBusy: "skip" }'],
    [{}, "locked needs waitMs or onBusy"],
    [{ waitMs: -1 }, "waitMs"],
    [{ wait: 5 }, 'there is no option "wait"'],
  ])("@Locked with %j", (given, message) => {
    const decorate = Locked("a", options(given));
    expect(decorating(decorate)).toThrow(`@Locked of Orders.pay: ${message}`);
  });

  test.each([[undefined], [""], [["a", ""]], [7]])("@Locked by the key %j", (key) => {
    const decorate = Locked(key as string, { waitMs: 0 });
    expect(decorating(decorate)).toThrow("@Locked of Orders.pay needs a non-empty key");
  });

  test.each([[undefined], [{}], [{ gridMs: 0 }], [{ gridMs: 1_500 }]])("@RunOnce with %j", (given) => {
    const decorate = RunOnce(given as { gridMs: number });
    expect(decorating(decorate)).toThrow(
      "@RunOnce of Orders.pay needs gridMs, whole seconds in milliseconds",
    );
  });
});

describe("a module", () => {
  test("gives clients by class and by name, and locks by name", async () => {
    @Injectable()
    class Both {
      constructor(
        @Inject(Holdfast) readonly plain: Holdfast,
        @InjectHoldfast("other") readonly other: Holdfast,
        @InjectLock("jobs") readonly jobs: Lock,
        @InjectLock("queue", "other") readonly queue: Lock,
      ) {}

      @Locked("a", { waitMs: 0, client: "other" })
      async inOther(): Promise<boolean[]> {
        return [await heldNow(this.plain, "a"), await heldNow(this.other, "a")];
      }
    }
    const app = await appWith({
      imports: [
        HoldfastModule.forTesting({ name: "other" }),
        HoldfastModule.forFeature(["jobs"]),
        HoldfastModule.forFeature([{ name: "queue", kind: "fair" }], "other"),
      ],
      providers: [Both],
    });
    const both = app.get(Both);
    expect(both.plain).not.toBe(both.other);
    expect(await both.inOther()).toEqual([false, true]);
    await both.jobs.using(async () => expect(await heldNow(both.plain, "jobs")).toBe(true));
    await both.queue.using(async () => expect(await heldNow(both.other, "queue")).toBe(true));
    expect(() => HoldfastModule.forFeature([{ name: "x", kind: "fare" as never }])).toThrow(
      'there is no kind "fare"',
    );
  });

  test("closes its client before the connection, and lets running bodies end", async () => {
    const told: string[] = [];
    const made = await Test.createTestingModule({
      imports: [
        HoldfastModule.forRootAsync({
          useFactory: async () => {
            const { memoryDriver } = await import("holdfast/memory");
            return { driver: memoryDriver(), disconnect: () => void told.push("disconnected") };
          },
        }),
      ],
    }).compile();
    const app = made.createNestApplication();
    await app.init();
    const holdfast = app.get(Holdfast);
    let end = () => {};
    const work = holdfast.using("a", async () => {
      told.push("begun");
      await new Promise<void>((resolve) => {
        end = resolve;
      });
      told.push("ended");
    });
    await expect.poll(() => told).toEqual(["begun"]);
    const closing = app.close();
    await expect.poll(() => holdfast.closing.aborted).toBe(true);
    end();
    await Promise.all([work, closing]);
    expect(told).toEqual(["begun", "ended", "disconnected"]);
  });
});

describe("over HTTP", () => {
  test("a busy lock is 409 with Retry-After, a client that is closed 503, and controllers are locked", async () => {
    @Controller("orders")
    @UseFilters(HoldfastExceptionFilter)
    class OrdersController {
      @InjectHoldfast() readonly holdfast!: Holdfast;

      @Locked((id: string) => `order:${id}`, { onBusy: "throw" })
      @Get(":id")
      async get(@Param("id") id: string): Promise<{ held: boolean; id: string }> {
        return { held: await heldNow(this.holdfast, `order:${id}`), id };
      }
    }
    const app = await appWith({ controllers: [OrdersController] });
    await app.listen(0, "127.0.0.1");
    const ask = (id: string) => app.getUrl().then((url) => fetch(`${url}/orders/${id}`));
    expect(await (await ask("7")).json()).toEqual({ held: true, id: "7" });
    const holdfast = app.get(Holdfast);
    const lease = await holdfast.lock("order:7");
    const busy = await ask("7");
    expect([busy.status, busy.headers.get("retry-after")]).toEqual([409, "2"]);
    expect(await busy.json()).toEqual({
      statusCode: 409,
      error: "Conflict",
      message: "Somebody else is working on this: try again later",
    });
    await lease.unlock();
    await holdfast.close();
    expect((await ask("7")).status).toBe(503);
  });
});

test("a filter that was made by hand needs the adapter, and says so", async () => {
  @Controller("orders")
  class OrdersController {
    @Locked("a", { onBusy: "throw" })
    @Get()
    async get(): Promise<void> {}
  }
  const app = await appWith({ controllers: [OrdersController] }, (made) =>
    made.useGlobalFilters(new HoldfastExceptionFilter(made.get(HttpAdapterHost).httpAdapter)),
  );
  await app.listen(0, "127.0.0.1");
  const lease = await app.get(Holdfast).lock("a");
  const busy = await fetch(`${await app.getUrl()}/orders`);
  expect([busy.status, busy.headers.get("retry-after")]).toEqual([409, "2"]);
  const error = await app
    .get(Holdfast)
    .outside(() => app.get(Holdfast).lock("a", { waitMs: 0 }))
    .catch((reason) => reason);
  const host = new ExecutionContextHost([]);
  expect(() => new HoldfastExceptionFilter().catch(error, host)).toThrow("has no HTTP adapter");
  await lease.unlock();
});

test("the filter passes on what is not asked over HTTP", () => {
  const host = new ExecutionContextHost([]);
  host.setType("graphql");
  const error = new ClientClosedError();
  expect(() => new HoldfastExceptionFilter().catch(error, host)).toThrow(error);
});
