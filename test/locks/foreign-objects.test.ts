import { runInNewContext } from "node:vm";
import { AbortController as ForeignController } from "abort-controller";
import { describe, expect, test } from "vitest";
import { fromIoredis } from "../../src/driver/ioredis/errors.js";
import { fromNodeRedis } from "../../src/driver/node-redis/errors.js";
import { fromGlide, fromSubscriber } from "../../src/driver/valkey-glide/errors.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();

/** As a compiler of another library would see it: that of `abort-controller` has no `reason`. */
function signalOf(controller: ForeignController): AbortSignal {
  return controller.signal as unknown as AbortSignal;
}

describe("a signal of another library or realm", () => {
  let of: () => ReturnType<typeof open>["holdfast"];
  const calls: readonly (readonly [string, (signal: AbortSignal) => Promise<unknown>])[] = [
    ["lock", (signal) => of().getLock("a").lock({ signal })],
    ["tryLock", (signal) => of().getLock("a").tryLock({ signal, waitMs: 5_000 })],
    [
      "using",
      (signal) =>
        of()
          .getLock("a")
          .using({ signal }, () => undefined),
    ],
    ["a fair lock", (signal) => of().getFairLock("a").lock({ signal })],
    ["a multi lock", (signal) => of().getMultiLock(of().getLock("a")).lock({ signal })],
    ["a semaphore", (signal) => of().getSemaphore("s").acquire({ signal })],
    ["permits", (signal) => of().getPermitExpirableSemaphore("p").acquire({ signal })],
    ["a latch", (signal) => of().getCountDownLatch("l").await({ signal })],
  ];
  test.each(calls)("cancels %s with an AbortError where it has no reason [own-107]", async (name, call) => {
    const { holdfast, clock } = open();
    of = () => holdfast;
    const held = await holdfast.getLock("a").lock();
    const latch = holdfast.getCountDownLatch("l");
    await latch.trySetCount(1);
    const leaving = new ForeignController();
    const waiting = watched(call(signalOf(leaving)));
    await clock.advance(0);
    expect(waiting.outcome).toBeUndefined();
    leaving.abort();
    await clock.advance(0);
    expect(waiting.outcome, name).toMatchObject({ error: { name: "AbortError" } });
    // One that has aborted before cancels at once, and with the same reason.
    const { error } = waiting.outcome as { error: unknown };
    await expect(holdfast.getLock("b").lock({ signal: signalOf(leaving) })).rejects.toBe(error);
    await held.unlock();
    await latch.delete();
  });

  test("leaves no listener behind", async () => {
    const { holdfast, clock } = open();
    const { signal } = new ForeignController();
    let listeners = 0;
    const { addEventListener: add, removeEventListener: remove } = signal;
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1;
      add.apply(signal, args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners -= 1;
      remove.apply(signal, args);
    };
    const held = await holdfast.getLock("a").lock();
    const waiting = watched(holdfast.getLock("a").lock({ signal: signal as unknown as AbortSignal }));
    await clock.advance(0);
    expect(listeners).toBe(1);
    await held.unlock();
    await clock.advance(0);
    expect(listeners).toBe(0);
    expect(waiting.outcome).toMatchObject({ value: { state: "held" } });
    await holdfast.getLock("a").forceUnlock();
  });

  test.each([
    ["a controller", new AbortController(), "an AbortController"],
    ["a lookalike without methods", { aborted: false }, "an object"],
    ["true", true, "true"],
    ["null", null, "null"],
  ])("is told from what is none: %s", async (_, signal, shown) => {
    const { holdfast } = open();
    await expect(holdfast.getLock("a").lock({ signal: signal as AbortSignal })).rejects.toThrow(
      new TypeError(`signal must be an AbortSignal, got ${shown}`),
    );
  });
});

describe("an error of another realm, as tests of Jest see those of Node", () => {
  const foreign = (text: string, also: object = {}) =>
    Object.assign(runInNewContext(`new Error(${JSON.stringify(text)})`), also);

  test("is read as one of this realm is [own-107]", () => {
    const reply = { name: "ServerReplyError", code: "NOPERM" };
    expect(fromIoredis(foreign("NOPERM no", { command: {} }))).toMatchObject(reply);
    expect(fromNodeRedis(foreign("NOPERM no"))).toMatchObject(reply);
    expect(fromGlide(foreign("An error was signalled by the server: - NOPERM: no"))).toMatchObject(reply);
    expect(fromSubscriber(foreign("closed", { name: "ClosingError" }))).toMatchObject({
      name: "DriverClosedError",
    });
  });
});
