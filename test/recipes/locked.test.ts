import { describe, expect, test } from "vitest";
import type { Holdfast } from "../../src/holdfast.js";
import { type LockedOptions, locked } from "../../src/recipes/index.js";
import { fakeTime } from "../support/worlds/fake-time.js";

const open = fakeTime();

type Pay = (id: string) => Promise<string | undefined>;
interface Orders {
  readonly holdfast: Holdfast;
  readonly paid: string[];
  pay: Pay;
}

/** A class whose method is not decorated yet. */
function undecorated() {
  return class {
    readonly paid: string[] = [];
    constructor(readonly holdfast: Holdfast) {}
    async pay(id: string): Promise<string | undefined> {
      this.holdfast.assertLocked(`order:${id}`);
      this.paid.push(id);
      return `paid ${id}`;
    }
  };
}

const lockedBy = (options: LockedOptions) =>
  locked(
    (orders: Orders) => orders.holdfast,
    (id: string) => `order:${id}`,
    options,
  );

/** What the compiler makes of a decorated class, in either way: Vite knows the second alone. */
const ways = {
  "a standard decorator": (options: LockedOptions) => {
    const Orders = undecorated();
    const context = { kind: "method", name: "pay" } as ClassMethodDecoratorContext;
    Orders.prototype.pay = lockedBy(options)(Orders.prototype.pay, context);
    return Orders;
  },
  "a decorator of experimentalDecorators": (options: LockedOptions) => {
    const Orders = undecorated();
    const found = Object.getOwnPropertyDescriptor(Orders.prototype, "pay");
    const descriptor = found as TypedPropertyDescriptor<Pay>;
    Object.defineProperty(Orders.prototype, "pay", lockedBy(options)(Orders.prototype, "pay", descriptor));
    return Orders;
  },
} satisfies Record<string, (options: LockedOptions) => new (holdfast: Holdfast) => Orders>;

describe.each(Object.entries(ways))("%s", (_, make) => {
  test("runs a method under the lock that its arguments name, as itself, and frees it", async () => {
    const { holdfast, ttlMs } = open();
    const Orders = make({ waitMs: 1_000 });
    const orders = new Orders(holdfast);
    expect(await orders.pay("7")).toBe("paid 7");
    expect([orders.paid, orders.pay.name, ttlMs("order:7")]).toEqual([["7"], "pay", -2]);
  });

  test("waits, skips or throws while another has the lock", async () => {
    const { holdfast, connect, clock } = open();
    const lease = await connect().holdfast.lock("order:7");
    const call = (options: LockedOptions) => new (make(options))(holdfast).pay("7");
    expect(await call({ onBusy: "skip" })).toBeUndefined();
    await expect(call({ onBusy: "throw" })).rejects.toMatchObject({ code: "ERR_HOLDFAST_WAIT_TIMEOUT" });
    const short = expect(call({ waitMs: 100 })).rejects.toMatchObject({ code: "ERR_HOLDFAST_WAIT_TIMEOUT" });
    const long = call({ waitMs: 10_000 });
    await clock.advance(100);
    await short;
    await lease.unlock();
    expect(await long).toBe("paid 7");
    expect(await call({ onBusy: "skip" })).toBe("paid 7");
  });

  test("enters the lock once more from inside", async () => {
    const { holdfast } = open();
    const Orders = make({ onBusy: "throw" });
    const orders = new Orders(holdfast);
    expect(await holdfast.using("order:7", () => orders.pay("7"))).toBe("paid 7");
  });

  test.each([
    [{}, 'locked needs waitMs or onBusy, as in { waitMs: 5_000 } or { onBusy: "skip" }'],
    [{ onBusy: "wait" }, 'onBusy: "wait" needs waitMs; { waitMs: Infinity } waits for ever'],
    [
      { ttl: 5 },
      'there is no option "ttl" of locked: onBusy, waitMs, leaseMs, watchdogMs, maxHoldMs, note. Did you mean leaseMs?',
    ],
    [5, "options must be an object, got 5, as in { waitMs: 5_000 }"],
  ])("refuses %j where it decorates", (options, message) => {
    expect(() => make(options as LockedOptions)).toThrow(message);
  });
});

test("a client and a name may be given as they are", async () => {
  const { holdfast } = open();
  const print = async () => holdfast.leaseHere("report") !== undefined;
  const context = { kind: "method", name: "print" } as ClassMethodDecoratorContext;
  expect(await locked(holdfast, "report", { onBusy: "skip" })(print, context)()).toBe(true);
});

describe("several names", () => {
  const move = (name: (...names: string[]) => unknown) => {
    const { holdfast } = open();
    const isHeld = (each: string) => holdfast.getLock(each).isLocked();
    const body = async (from: string, to: string) => Promise.all([isHeld(from), isHeld(to)]);
    const context = { kind: "method", name: "move" } as ClassMethodDecoratorContext;
    return { holdfast, run: locked(holdfast, name as () => string[], { waitMs: 0 })(body, context) };
  };

  test("are locked all at once, and one that is there twice once", async () => {
    const { holdfast, run } = move((...names) => names);
    expect([run.length, await run("a", "b")]).toEqual([2, [true, true]]);
    expect(await run("a", "a")).toEqual([true, true]);
    const lease = await holdfast.lock("b");
    await expect(holdfast.outside(() => run("a", "b"))).rejects.toMatchObject({
      code: "ERR_HOLDFAST_WAIT_TIMEOUT",
    });
    await lease.unlock();
    expect(await Promise.all(["a", "b"].map((name) => holdfast.getLock(name).isLocked()))).toEqual([
      false,
      false,
    ]);
  });

  test.each([[undefined], [[]], [7]])("%j is none", async (name) => {
    await expect(move(() => name).run("a", "b")).rejects.toThrow(
      new TypeError(
        `the lock of body() must have a name, or several, got ${Array.isArray(name) ? "an array" : name}`,
      ),
    );
  });
});

test("only methods are decorated", () => {
  const { holdfast } = open();
  const decorate = locked(holdfast, "report", { onBusy: "skip" });
  expect(() => decorate({}, "field", {})).toThrow("locked decorates methods, got undefined");
});
